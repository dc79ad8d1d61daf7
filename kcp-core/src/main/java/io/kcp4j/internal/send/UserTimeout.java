package io.kcp4j.internal.send;

import io.kcp4j.EndReason;
import io.kcp4j.internal.wire.Time;

/**
 * The user timeout (RFC 5482) and the zero window timeout: when the session fails. It fails by a
 * segment that was sent too often, by segments that stay unacknowledged for too long (both
 * protocol.md 7.1), by a peer that takes next to nothing (7.2), or by a violation of the protocol
 * (7.4).
 */
public final class UserTimeout {

  /** dead_link of C KCP, and its value there. */
  private static final int MAX_TRANSMISSIONS = 20;

  private final Sender sender;

  /** Null until the peer has had no room for the first time. */
  private ZeroWindowTimeout stall;

  private EndReason failure;

  /** See {@link #progress}. */
  private long progressAtUs;

  UserTimeout(Sender sender) {
    this.sender = sender;
  }

  /** Why the session has failed, or null. */
  public EndReason failure() {
    return failure;
  }

  /** The session gives up what the peer does not take, and goes on for as long as that needs. */
  public void forgetZeroWindow() {
    if (failure == EndReason.ZERO_WINDOW_TIMEOUT) {
      failure = null;
      stall = null;
    }
  }

  public void fail(EndReason reason) {
    if (sender.tracing != null && failure == null) {
      sender.tracing.failed(reason);
    }
    failure = reason;
  }

  /**
   * The segment at {@code index} has been sent again. While others are acknowledged, it may well be
   * sent often within a short time: only one that has been in flight for the whole user timeout
   * shows that the link is dead.
   *
   * @param inFlightMs the time since its first transmission
   */
  public void retransmitted(int index, int inFlightMs) {
    int timeoutMs = sender.config.userTimeoutMs();
    boolean isTooOften = sender.losses.transmissions(index) >= MAX_TRANSMISSIONS;
    boolean isTooLong = timeoutMs > 0 && inFlightMs >= timeoutMs;
    if (isTooOften && isTooLong && !sender.isPeerDone()) {
      fail(index, EndReason.DEAD_LINK);
    }
  }

  /** Fails the session by the segment at {@code index}, which does not arrive. */
  public void fail(int index, EndReason reason) {
    boolean isLarge = sender.packetBytes(index) > BlackHoleDetector.BASE_MTU_BYTES;
    fail(isLarge && sender.blackHoles().failed(index) ? EndReason.PATH_MTU : reason);
  }

  /**
   * Segments have been acknowledged, the peer has answered a probe in an outage, or segments will
   * be sent while none are in flight.
   */
  public void progress(long nowUs) {
    progressAtUs = nowUs;
  }

  /** When the last of these was. */
  public long progressAtUs() {
    return progressAtUs;
  }

  /** Notes whether the peer has room; see {@link ZeroWindowTimeout#update}. */
  public void updateZeroWindow(boolean queued, long nowUs) {
    if (stall == null && !queued) {
      return;
    }
    int remoteWindow = sender.remote.segments();
    int window = Math.min(sender.config.sendWindow(), sender.remote.largest());
    if (stall == null && ZeroWindowTimeout.begins(queued, remoteWindow, window)) {
      stall = new ZeroWindowTimeout();
    }
    if (stall != null) {
      stall.update(queued, remoteWindow, sender.buffer.una(), window, nowUs);
    }
  }

  /** When {@link #check} may fail the session, or {@link Time#NO_DEADLINE}. */
  public long deadlineUs() {
    return sender.isPeerDone() ? Time.NO_DEADLINE : Math.min(progressDeadlineUs(), stallOverAtUs());
  }

  /** When the session fails since nothing has been acknowledged, or {@link Time#NO_DEADLINE}. */
  long progressDeadlineUs() {
    long sinceUs = sender.losses.unacknowledged() > 0 ? progressAtUs : blockedSinceUs();
    if (sinceUs == Time.NO_DEADLINE || sender.config.userTimeoutMs() == 0) {
      return Time.NO_DEADLINE;
    }
    return sinceUs + (long) sender.config.userTimeoutMs() * Time.US_PER_MS;
  }

  /** Since when path challenges are unanswered. */
  private long blockedSinceUs() {
    return sender.limit == null ? Time.NO_DEADLINE : sender.limit.blockedSinceUs();
  }

  private long stallOverAtUs() {
    return stall == null
        ? Time.NO_DEADLINE
        : stall.overAtUs((long) sender.config.zeroWindowTimeoutMs() * Time.US_PER_MS);
  }

  /**
   * Excludes time in which the session was not driven, as in a long pause of the whole process:
   * nothing was retransmitted that the peer could have acknowledged.
   */
  public void excludeDriverStall(long lateUs) {
    progressAtUs += lateUs;
    if (stall != null) {
      stall.exclude(lateUs);
    }
  }

  /** Fails the session if a deadline has passed. */
  public void check(long nowUs) {
    if (failure != null || sender.isPeerDone()) {
      return;
    }
    if (nowUs >= progressDeadlineUs()) {
      failOnNoProgress();
    } else if (nowUs >= stallOverAtUs()) {
      fail(EndReason.ZERO_WINDOW_TIMEOUT);
    }
  }

  /** The oldest segment in flight, if there is one, is the first that does not arrive. */
  private void failOnNoProgress() {
    if (sender.losses.unacknowledged() > 0) {
      fail(sender.buffer.index(sender.buffer.una()), EndReason.USER_TIMEOUT);
    } else {
      fail(EndReason.USER_TIMEOUT);
    }
  }

  /**
   * How long a peer has had no room for queued segments: protocol.md 7.2.
   *
   * <p>A stall ends when the peer has taken a sixteenth of the window, at most 16 segments, or when
   * nothing is queued any more: a peer that takes a segment per minute must not keep memory for
   * ever. A window below that size counts as closed. A window that opens wider restarts the timer,
   * once.
   */
  private static final class ZeroWindowTimeout {

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
     * When the stall will have lasted {@code timeoutUs}, or {@link Time#NO_DEADLINE} if there is
     * none or {@code timeoutUs} is 0.
     */
    long overAtUs(long timeoutUs) {
      return running && timeoutUs > 0 ? sinceUs + timeoutUs : Time.NO_DEADLINE;
    }
  }
}
