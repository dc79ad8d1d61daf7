/**
 * Congestion control and pacing: how many segments may be in flight, and when the next one may
 * leave. Knows nothing of the ARQ, which reports what is acknowledged and lost. Without clock,
 * thread or socket, on one thread at a time.
 */
package io.kcp4j.congestion;
