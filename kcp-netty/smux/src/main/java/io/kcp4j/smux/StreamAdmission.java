package io.kcp4j.smux;

import io.kcp4j.internal.scheduling.RateLimiter;
import io.kcp4j.netty.internal.ConnectionMemory;

/**
 * Limits the streams that the peer opens, by their number and their rate, and those of a peer whose
 * address may be forged.
 */
final class StreamAdmission {

  private static final long US_PER_MS = 1_000;

  /** So many streams are accepted before the peer has proven its address. */
  private static final int MAX_UNVALIDATED = 8;

  private final int maxStreams;
  private final RateLimiter rate;
  private final ConnectionMemory memory;

  StreamAdmission(SmuxConfig config, ConnectionMemory memory) {
    this.memory = memory;
    maxStreams = config.maxStreams();
    rate = new RateLimiter(config.maxNewStreamsPerSecond(), config.maxNewStreamsPerSecond());
  }

  /** Whether the peer may open a stream now. */
  boolean admit(int openStreams, long nowMs) {
    return openStreams < maxStreams && rate.tryTake(nowMs * US_PER_MS);
  }

  /** Whether a stream beyond those that were accepted has to wait for the peer's proof. */
  boolean isToWait(long accepted) {
    return accepted >= MAX_UNVALIDATED && !memory.isPeerValidated();
  }
}
