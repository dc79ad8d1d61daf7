package io.kcp4j.smux;

import io.kcp4j.netty.internal.ConnectionMemory;

/**
 * Limits the streams that the peer opens, by their number and their rate, and those of a peer whose
 * address may be forged.
 */
final class StreamAdmission {

  private static final long US_PER_MS = 1_000;
  private static final long US_PER_S = 1_000_000;

  /** So many streams are accepted before the peer has proven its address. */
  private static final int MAX_UNVALIDATED = 8;

  private final int maxStreams;
  private final long intervalUs;

  private final ConnectionMemory memory;

  /** When the token bucket is full again. */
  private long fullAtUs;

  StreamAdmission(SmuxConfig config, ConnectionMemory memory, long nowMs) {
    this.memory = memory;
    maxStreams = config.maxStreams();
    intervalUs = US_PER_S / config.maxNewStreamsPerSecond();
    fullAtUs = nowMs * US_PER_MS;
  }

  /** Whether the peer may open a stream now. */
  boolean admit(int openStreams, long nowMs) {
    if (openStreams >= maxStreams) {
      return false;
    }
    long nowUs = nowMs * US_PER_MS;
    long nextUs = Math.max(fullAtUs, nowUs) + intervalUs;
    if (nextUs - nowUs > US_PER_S) {
      return false;
    }
    fullAtUs = nextUs;
    return true;
  }

  /** Whether a stream beyond those that were accepted has to wait for the peer's proof. */
  boolean isToWait(long accepted) {
    return accepted >= MAX_UNVALIDATED && !memory.isPeerValidated();
  }
}
