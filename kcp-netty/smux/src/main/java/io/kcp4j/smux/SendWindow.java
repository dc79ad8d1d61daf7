package io.kcp4j.smux;

/**
 * What a stream may send in version 2: the peer's window, by its updates. Totals are those of the
 * wire, which wrap.
 */
final class SendWindow {

  private int sent;
  private int consumed;
  private int window = StreamInput.INITIAL_WINDOW;
  private boolean isReported;

  /** What was sent and not reported as consumed, in bytes. */
  int outstanding() {
    return sent - consumed;
  }

  /** How much more the peer's window takes, in bytes; 0 or less: nothing. */
  int available() {
    return window - outstanding();
  }

  /**
   * How much of {@link #outstanding} the peer may have read without reporting it, in bytes. A peer
   * reports its first read, and then each half of its window.
   */
  int unreportable() {
    return isReported ? Math.max(0, window / 2 - 1) : 0;
  }

  void sent(int bytes) {
    sent += bytes;
  }

  /** The window of the last update, in bytes. */
  int window() {
    return window;
  }

  /**
   * Whether an update is one that Go's smux does not send: it reports less than half a window, and
   * is not the first of its stream.
   */
  boolean isEarly(int newConsumed, int newWindow) {
    int more = newConsumed - consumed;
    return isReported && more >= 0 && more <= outstanding() && more < newWindow / 2;
  }

  /**
   * Whether an update says that the peer reads no more of the stream: it gives no window, and
   * reports more than was sent. Go's writers fail at such an update.
   */
  boolean isStop(int newConsumed, int newWindow) {
    return newWindow == 0 && newConsumed - consumed > outstanding();
  }

  /**
   * Takes an update.
   *
   * @return how much more the peer has consumed, in bytes: 0 if a newer update is known already, or
   *     -1 if the update is false: it reports more than was sent, or a negative window
   */
  int update(int newConsumed, int newWindow) {
    int more = newConsumed - consumed;
    if (more > outstanding() || newWindow < 0) {
      return -1;
    }
    if (more < 0) {
      return 0;
    }
    consumed = newConsumed;
    window = newWindow;
    isReported = true;
    return more;
  }

  /** The peer holds nothing of this stream any more. Returns what was outstanding. */
  int forget() {
    int outstanding = outstanding();
    consumed = sent;
    return outstanding;
  }
}
