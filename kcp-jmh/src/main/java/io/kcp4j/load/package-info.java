/**
 * What {@code src/bench/load} measures on the JVM: one side of a transfer, as a process. kcp4j,
 * Netty's TCP and Netty's QUIC do the same work here, by the same handlers.
 */
package io.kcp4j.load;
