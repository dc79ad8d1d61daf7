package io.kcp4j.sim;

/**
 * What happened in one run.
 *
 * @param segmentsFromA new segments that A put on the wire, retransmissions not counted
 * @param segmentsFromB the same for B
 * @param retransmitted segments sent again by either
 * @param endedAtMs the virtual time at which both sides had become quiet
 * @param digest of every datagram and its time: equal for equal runs
 * @param faults what the network and the strangers did
 */
public record SimulationReport(
    long segmentsFromA,
    long segmentsFromB,
    long retransmitted,
    long endedAtMs,
    long digest,
    FaultCounts faults) {}
