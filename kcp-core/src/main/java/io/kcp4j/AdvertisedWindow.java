package io.kcp4j;

/**
 * Flow control, receiving side: the receive window that we advertise, which is the free part of the
 * {@link ReceiveWindow} as far as the memory budget has room for it, and the window updates (WINS)
 * that tell the peer when it opens: protocol.md 3.4.
 */
final class AdvertisedWindow {

  /**
   * For how long after its last datagram a peer gets a WINS at once when a window opens that was
   * closed for lack of memory. Later it has to probe.
   */
  private static final int RECENTLY_RECEIVED_US = 1_000_000;

  private final Kcp kcp;

  private boolean updatePending;

  /** Whether the last flush has advertised a closed window only for lack of memory. */
  private boolean withheld;

  private long lastReceivedAtUs;

  /** The payload that has been taken in, in bytes, modulo 2<sup>32</sup>. */
  private int acceptedBytes;

  AdvertisedWindow(Kcp kcp) {
    this.kcp = kcp;
  }

  /** Takes over the session's settings, which can open the window. */
  void configure() {
    boolean wasFull = kcp.receiving.freeWindow() == 0;
    kcp.receiving.configure(kcp.config());
    updateIfOpened(wasFull);
  }

  /** The window to advertise now, in segments. */
  int segments() {
    int segmentBytes = kcp.config().mtuBytes(); // The largest that may arrive.
    return Math.min(kcp.receiving.affordableWindow(segmentBytes), KcpConfig.MAX_WINDOW);
  }

  /** A datagram has arrived from the peer. */
  void received(long nowUs) {
    lastReceivedAtUs = nowUs;
  }

  /** A payload of this size has been taken in. */
  void accepted(int bytes) {
    acceptedBytes += bytes;
  }

  int acceptedBytes() {
    return acceptedBytes;
  }

  /** When a datagram has arrived last from the peer. */
  long lastReceivedAtUs() {
    return lastReceivedAtUs;
  }

  /** Sends a WINS with the next flush. */
  void requestUpdate() {
    updatePending = true;
  }

  /** Whether a WINS is to be sent. */
  boolean isUpdatePending() {
    return updatePending;
  }

  /** Whether the peer believes that the window is closed. */
  boolean isClosed() {
    return withheld || kcp.receiving.freeWindow() == 0;
  }

  /** Sends a WINS with the next flush if the window {@code wasClosed} and is open now. */
  void updateIfOpened(boolean wasClosed) {
    updatePending |= wasClosed && segments() > 0;
  }

  /**
   * The peer asks for the window: if that is closed for lack of memory, it has something to send
   * that could not be refused.
   */
  void probed() {
    updatePending = true;
    if (withheld) {
      kcp.receiving.noteShortage(kcp.config().mtuBytes());
    }
  }

  /** Returns the window that all segments of the flush that begins now advertise. */
  int beginFlush(long nowUs) {
    kcp.receiving.updateWindow(kcp, nowUs);
    int segments = segments();
    updatePending |= withheld && segments > 0;
    withheld = segments == 0 && kcp.receiving.freeWindow() > 0;
    return segments;
  }

  /** Whether to write a WINS in this flush, which counts as done. */
  boolean takeUpdate() {
    boolean pending = updatePending;
    updatePending = false;
    return pending;
  }

  /** Whether the window is closed for lack of memory alone. */
  boolean isWithheld() {
    return withheld;
  }

  /** Whether to look after an interval if there is memory again. */
  boolean isReviewDue(long nowUs) {
    return withheld && nowUs - lastReceivedAtUs < RECENTLY_RECEIVED_US;
  }
}
