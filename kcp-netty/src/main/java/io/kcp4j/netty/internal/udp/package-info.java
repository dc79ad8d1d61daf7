/**
 * UDP sockets: the transports of Netty, GSO batches to send and GRO batches to receive. Not
 * exported; for {@code io.kcp4j.netty} only.
 */
package io.kcp4j.netty.internal.udp;
