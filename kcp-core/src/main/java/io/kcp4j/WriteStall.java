package io.kcp4j;

/**
 * How long a peer has had no room for queued segments: protocol.md 7.2.
 *
 * <p>A stall ends when the peer has taken a sixteenth of the window, at most 16 segments, or when
 * nothing is queued any more: a peer that takes a segment per minute must not keep memory for ever.
 * A window below that size counts as closed. A window that opens wider restarts the timer, once.
 */
final class WriteStall {

  private static final int MOST_SEGMENTS = 16;

  private boolean running;
  private boolean opened;
  private int startUna;
  private long sinceUs;

  /**
   * Updates the stall.
   *
   * @param queued whether there is something to send
   * @param remoteWindow the peer's window, in segments
   * @param una the oldest segment that the peer has not taken
   * @param window the smaller of the send window and the largest window that the peer has
   *     advertised, in segments
   */
  void update(boolean queued, int remoteWindow, int una, int window, long nowUs) {
    int enough = enough(window);
    if (running && (!queued || una - startUna >= enough)) {
      running = false;
    }
    if (!running && begins(queued, remoteWindow, window)) {
      running = true;
      opened = false;
      startUna = una;
      sinceUs = nowUs;
    } else if (running && !opened && remoteWindow >= enough) {
      opened = true;
      sinceUs = nowUs;
    }
  }

  /** Whether a stall begins if there is none; the arguments are those of {@link #update}. */
  static boolean begins(boolean queued, int remoteWindow, int window) {
    return queued && remoteWindow < enough(window);
  }

  private static int enough(int window) {
    return Math.min(Math.max(1, window / 16), MOST_SEGMENTS);
  }

  /** Excludes so many microseconds from the stall. */
  void exclude(long us) {
    sinceUs += us;
  }

  /**
   * When the stall will have lasted {@code timeoutUs}, or {@link Kcp#NO_DEADLINE} if there is none
   * or {@code timeoutUs} is 0.
   */
  long overAtUs(long timeoutUs) {
    return running && timeoutUs > 0 ? sinceUs + timeoutUs : Kcp.NO_DEADLINE;
  }
}
