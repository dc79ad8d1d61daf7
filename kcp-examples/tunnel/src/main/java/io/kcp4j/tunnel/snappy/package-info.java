/**
 * Snappy's framing format as Netty handlers, on byte arrays: several times as fast as those of
 * Netty, with which they interoperate, and with Go's.
 */
package io.kcp4j.tunnel.snappy;
