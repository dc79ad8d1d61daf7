package io.kcp4j;

import java.util.Objects;

/** Tells the session's congestion control of acknowledgements and losses. */
final class CongestionFeed {

  private CongestionControl control;
  private CongestionControl.Factory factory;
  private int mssBytes;

  // Since the last flush:
  private int lostByAcks;
  private int lostByTimeout;

  CongestionFeed(KcpConfig config, int mssBytes) {
    use(create(config, mssBytes), config, mssBytes);
  }

  private static CongestionControl create(KcpConfig config, int mssBytes) {
    return Objects.requireNonNull(
        config.congestionControl().create(mssBytes), "congestionControl made null");
  }

  /** The control for {@code config}: this one, or a new one if the factory is another. */
  CongestionControl successor(KcpConfig config, int mssBytes) {
    return config.congestionControl() == factory ? control : create(config, mssBytes);
  }

  /** Continues with the {@link #successor}, and tells it if the segment size has changed. */
  void use(CongestionControl next, KcpConfig config, int mssBytes) {
    boolean isResized = next == control && mssBytes != this.mssBytes;
    control = next;
    factory = config.congestionControl();
    this.mssBytes = mssBytes;
    if (isResized) {
      control.onMssChanged(mssBytes);
    }
  }

  /** {@code una} has advanced. */
  void acknowledged(int remoteWindow) {
    control.onAcknowledged(remoteWindow);
  }

  /** How many segments may be in flight. */
  int window() {
    return control.window();
  }

  /** A segment is retransmitted. */
  void lost(LossCause cause) {
    if (cause == LossCause.TIMEOUT) {
      lostByTimeout++;
    } else {
      lostByAcks++;
    }
  }

  /**
   * A flush has ended.
   *
   * @param inFlight segments from the oldest that is unacknowledged to the newest sent
   * @param window the window in force when the flush began
   */
  void endFlush(int inFlight, int window, int fastRetransmit) {
    if (lostByAcks > 0) {
      control.onFastRetransmit(inFlight, fastRetransmit);
      lostByAcks = 0;
    }
    if (lostByTimeout > 0) {
      control.onTimeout(window);
      lostByTimeout = 0;
    }
  }
}
