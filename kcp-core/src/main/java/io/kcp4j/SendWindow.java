package io.kcp4j;

/**
 * The send window of a session without congestion control, if its limit is larger than {@link
 * KcpConfig#MAX_FIXED_WINDOW} segments: protocol.md 4.1. Only the windows bound what such a session
 * has in flight, and a large one would fill every queue of the path. So it begins with {@link
 * KcpConfig#INITIAL_WINDOW} segments and grows to twice the bandwidth-delay product: the segments
 * delivered in a period, for a shortest round trip. It does not shrink. As that of BBR, it does not
 * count what is acknowledged behind a gap: otherwise a window that waits for a lost segment would
 * deliver half of what the path carries, and not grow.
 */
final class SendWindow {

  /** Acknowledgements come in lumps, every 10 to 40 ms. */
  private static final int MIN_PERIOD_US = 100_000;

  private static final int BANDWIDTH_DELAY_PRODUCTS = 2;

  private int segments = KcpConfig.INITIAL_WINDOW;

  /** Later ones may contain the queue that this window keeps. */
  private int leastRttUs = Integer.MAX_VALUE;

  private int deliveredBefore;
  private long startedAtUs;

  SendWindow(Sender sender, long nowUs) {
    deliveredBefore = delivered(sender);
    startedAtUs = nowUs;
  }

  int segments() {
    return segments;
  }

  /** The segments that have been acknowledged, also behind a gap, modulo 2<sup>32</sup>. */
  private static int delivered(Sender sender) {
    return sender.buffer.next() - sender.losses.unacknowledged();
  }

  /** A flush begins. The window may grow before. */
  void update(Sender sender, long nowUs) {
    if (!sender.rtt.hasSample()) {
      return;
    }
    int rttUs = sender.rtt.minRttUs() == 0 ? sender.rtt.srttUs() : sender.rtt.minRttUs();
    leastRttUs = Math.min(leastRttUs, rttUs);
    long periodUs = nowUs - startedAtUs;
    if (periodUs < Math.max(leastRttUs, MIN_PERIOD_US)) {
      return;
    }
    int delivered = delivered(sender);
    if (sender.limit == null) {
      long perRoundTrip = (long) (delivered - deliveredBefore) * leastRttUs / periodUs;
      long most = Math.min(BANDWIDTH_DELAY_PRODUCTS * perRoundTrip, sender.config.sendWindow());
      segments = (int) Math.max(segments, most);
    }
    deliveredBefore = delivered;
    startedAtUs = nowUs;
  }
}
