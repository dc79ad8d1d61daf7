package io.kcp4j.internal.send;

/** Flow control, sending side: the peer's receive window, as far as it has advertised it. */
public final class RemoteWindow {

  /** kcp-go's receive window: what a peer is sure to take before it has advertised its own. */
  private static final int INITIAL_SEGMENTS = 32;

  /**
   * The reference's receive window, which limits messages until the peer has advertised its own.
   */
  private static final int INITIAL_MESSAGE_FRAGMENTS = 128;

  private int una;

  /** 16 bits, as on the wire. */
  private char segments = INITIAL_SEGMENTS;

  private int largest;

  RemoteWindow(int firstSn) {
    una = firstSn;
  }

  /** The free window that the peer advertised last, in segments. */
  public int segments() {
    return segments;
  }

  /** The largest window that the peer has advertised, in segments; 0 before its first segment. */
  int largest() {
    return largest;
  }

  /** The newest {@code una} of the peer. */
  public int una() {
    return una;
  }

  /**
   * Takes the window of a segment, unless the segment is older than one before it. An ACK's
   * timestamp cannot tell, since it is ours; {@code una} and, for equal ones, the larger window do:
   * protocol.md 2.5.
   *
   * @return whether the window has grown
   */
  public boolean update(int segmentUna, int wnd, SendBuffer sending) {
    int newer = segmentUna - una;
    if (newer < 0 || (newer == 0 && wnd <= segments && largest != 0)) {
      return false;
    }
    boolean grown = wnd > segments;
    una = segmentUna;
    segments = (char) wnd;
    // The fragments of an unfinished message take up room that the next message will have.
    largest = Math.max(largest, wnd + sending.unfinishedFragments(una));
    return grown;
  }

  /** The most fragments of a message that the peer can receive, if it does not say so itself. */
  int messageFragments() {
    return largest == 0 ? INITIAL_MESSAGE_FRAGMENTS : Math.max(largest, INITIAL_SEGMENTS);
  }
}
