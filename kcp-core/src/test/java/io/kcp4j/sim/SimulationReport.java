package io.kcp4j.sim;

import io.kcp4j.KcpCounters;

/**
 * What happened in one run.
 *
 * @param segmentsFromA new segments that A sent, retransmissions not counted
 * @param segmentsFromB the same for B
 * @param retransmitted segments sent again by either
 * @param endedAtUs the virtual time at which both sides were done
 * @param digest of every datagram before it is sealed: equal for equal runs
 * @param counters what both sides, or all endpoints, have counted together
 * @param faults what the network and the attackers did
 */
public record SimulationReport(
    long segmentsFromA,
    long segmentsFromB,
    long retransmitted,
    long endedAtUs,
    long digest,
    KcpCounters counters,
    FaultCounts faults) {}
