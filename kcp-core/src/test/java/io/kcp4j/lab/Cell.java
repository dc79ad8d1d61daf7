package io.kcp4j.lab;

/**
 * One run of the lab.
 *
 * @param traffic the messages, for workloads that have them
 * @param link both directions of the path
 * @param seconds how long data is sent; what is sent in the first is not measured
 */
record Cell(
    Workload workload,
    Variant variant,
    Traffic traffic,
    LinkSettings link,
    int seconds,
    long seed) {}
