/**
 * The processes that {@code src/bench/load} and {@code src/bench/latency} measure on the JVM: one
 * side of a transfer each. kcp4j, Netty's TCP and Netty's QUIC do the same work with the same
 * handlers.
 */
package io.kcp4j.load;
