package io.kcp4j;

/**
 * Tells for how long a peer has had no room for what is queued: protocol.md 7.2.
 *
 * <p>To open the window by a segment now and then does not end a stall, or one segment a minute
 * would keep what is queued for ever. It ends when the peer has taken a sixteenth of the window, at
 * most 16 segments, or when nothing is queued any more. A window below that counts as closed; one
 * that opens wide gives the peer the whole time anew, once.
 */
final class WriteStall {

  private static final int MOST_SEGMENTS = 16;

  private boolean running;
  private boolean opened;
  private int startUna;
  private long sinceMs;

  /**
   * Notes how things stand.
   *
   * @param queued whether there is something to send
   * @param remoteWindow the peer's window, in segments
   * @param una the oldest segment that the peer has not taken
   * @param window the smaller of our send window and the largest that the peer has shown: what a
   *     peer with little room takes is much to it
   */
  void update(boolean queued, int remoteWindow, int una, int window, long nowMs) {
    int enough = Math.min(Math.max(1, window / 16), MOST_SEGMENTS);
    if (running && (!queued || una - startUna >= enough)) {
      running = false;
    }
    if (!running && queued && remoteWindow < enough) {
      running = true;
      opened = false;
      startUna = una;
      sinceMs = nowMs;
    } else if (running && !opened && remoteWindow >= enough) {
      opened = true;
      sinceMs = nowMs;
    }
  }

  /** Excludes so many milliseconds from the stall. */
  void exclude(long ms) {
    sinceMs += ms;
  }

  /** When the stall will have lasted {@code timeoutMs}, or {@link Kcp#NO_DEADLINE}; 0 is never. */
  long overAtMs(int timeoutMs) {
    return running && timeoutMs > 0 ? sinceMs + timeoutMs : Kcp.NO_DEADLINE;
  }
}
