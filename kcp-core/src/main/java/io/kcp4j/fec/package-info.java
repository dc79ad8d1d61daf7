/**
 * Forward error correction as kcp-go does it: parity packets from which a receiver rebuilds lost
 * packets without waiting for them to be sent again. Knows nothing of KCP itself.
 */
package io.kcp4j.fec;
