package io.kcp4j.lab;

/**
 * The congestion window of TCP: CUBIC (RFC 9438) with HyStart's exit from slow start by delay, as
 * in Linux. In segments and microseconds.
 */
final class CubicWindow {

  private static final double C = 0.4;

  private static final double BETA = 0.7;

  /** RFC 9438 §4.3. */
  private static final double RENO_ALPHA = 3 * (1 - BETA) / (1 + BETA);

  private static final double US_PER_S = 1e6;

  private static final double INITIAL_SEGMENTS = 10;

  private static final double MIN_SEGMENTS = 2;

  // Linux: hystart_low_window and the limits of the delay threshold.

  private static final int HYSTART_LOW_WINDOW = 16;

  private static final int HYSTART_MIN_US = 4_000;

  private static final int HYSTART_MAX_US = 16_000;

  private static final int HYSTART_SAMPLES = 8;

  private double segments = INITIAL_SEGMENTS;
  private double threshold = Double.MAX_VALUE;
  private double windowBefore;
  private double renoSegments;
  private double periodUs;
  private boolean inEpoch;
  private long epochAtUs;

  private int minRttUs = Integer.MAX_VALUE;
  private int roundRttUs = Integer.MAX_VALUE;
  private int roundSamples;

  /** The window, in segments. */
  int segments() {
    return (int) segments;
  }

  boolean isInSlowStart() {
    return segments < threshold;
  }

  /** A round trip begins. */
  void beginRound() {
    roundRttUs = Integer.MAX_VALUE;
    roundSamples = 0;
  }

  void sampleRtt(int rttUs) {
    minRttUs = Math.min(minRttUs, rttUs);
    roundRttUs = Math.min(roundRttUs, rttUs);
    roundSamples++;
    int limitUs = Math.min(Math.max(minRttUs / 8, HYSTART_MIN_US), HYSTART_MAX_US);
    if (isInSlowStart()
        && segments >= HYSTART_LOW_WINDOW
        && roundSamples >= HYSTART_SAMPLES
        && roundRttUs >= minRttUs + limitUs) {
      threshold = segments;
    }
  }

  /** Segments are acknowledged while nothing is being recovered, and the window was full. */
  void acknowledged(int acknowledged, int srttUs, long nowUs) {
    if (isInSlowStart()) {
      segments = Math.min(segments + acknowledged, Math.max(threshold, segments));
      return;
    }
    if (!inEpoch) {
      inEpoch = true;
      epochAtUs = nowUs;
      renoSegments = segments;
      windowBefore = Math.max(windowBefore, segments);
      periodUs = Math.cbrt((windowBefore - segments) / C) * US_PER_S;
    }
    double sinceS = (nowUs - epochAtUs + srttUs - periodUs) / US_PER_S;
    double target = C * sinceS * sinceS * sinceS + windowBefore;
    target = Math.min(Math.max(target, segments), 1.5 * segments);
    renoSegments += (renoSegments >= windowBefore ? 1 : RENO_ALPHA) * acknowledged / segments;
    segments += (target - segments) / segments * acknowledged;
    segments = Math.max(segments, renoSegments);
  }

  /** A loss begins a recovery. */
  void lost() {
    boolean isFallingBehind = segments < windowBefore; // fast convergence
    windowBefore = isFallingBehind ? segments * (1 + BETA) / 2 : segments;
    segments = Math.max(segments * BETA, MIN_SEGMENTS);
    threshold = segments;
    inEpoch = false;
  }

  /** Everything in flight has timed out. */
  void timedOut() {
    lost();
    segments = 1;
  }
}
