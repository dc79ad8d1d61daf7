package io.kcp4j.tunnel;

/**
 * The defaults of kcptun that differ between client and server.
 *
 * @param sendWindow in segments
 * @param receiveWindow in segments
 * @param closeWaitS in seconds; 0 means without limit
 */
record TunnelDefaults(int sendWindow, int receiveWindow, int closeWaitS) {}
