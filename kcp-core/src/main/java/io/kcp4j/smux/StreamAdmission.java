package io.kcp4j.smux;

/** Limits the streams that the peer opens, by their number and their rate. */
final class StreamAdmission {

  private static final long US_PER_MS = 1_000;
  private static final long US_PER_S = 1_000_000;

  private final int maxStreams;
  private final long intervalUs;

  /** When the token bucket is full again. */
  private long fullAtUs;

  StreamAdmission(SmuxConfig config, long nowMs) {
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
}
