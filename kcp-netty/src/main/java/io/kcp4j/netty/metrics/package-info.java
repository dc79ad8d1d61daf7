/** Counters and gauges of KCP endpoints for Micrometer. Needs {@code micrometer-core}. */
package io.kcp4j.netty.metrics;
