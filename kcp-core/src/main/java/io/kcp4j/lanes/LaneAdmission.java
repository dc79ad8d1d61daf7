package io.kcp4j.lanes;

/**
 * Which messages of reliable lanes are taken: those that a correct peer may send (protocol.md
 * 15.3.3), as far as the budget of what is not read has room.
 */
final class LaneAdmission {

  private final ControlFrames control;
  private final int budgetBytes;
  private final int maxMessageBytes;

  /** What counts against the budget: messages of which anything has arrived, and are not read. */
  private int unreadBytes;

  LaneAdmission(ControlFrames control, LanesConfig config) {
    this.control = control;
    budgetBytes = config.budgetBytes();
    maxMessageBytes = Credit.maxMessageBytes(budgetBytes);
  }

  int budgetBytes() {
    return budgetBytes;
  }

  /** Whether a message, or a part of one, is possible on its lane now. */
  boolean isPossible(Lane lane, FrameReader frame) {
    int number = frame.number(lane.base);
    return (lane.inputKind == null || lane.inputKind == frame.kind())
        && !lane.isInputEnded()
        && frame.total() <= maxMessageBytes
        && number - lane.base >= 0
        && (lane.inbox == null || !lane.inbox.hasFin || number - lane.inbox.fin < 0);
  }

  /** The message with this number, from the base on; null if nothing of it has arrived. */
  static InboundMessage begun(Lane lane, int number) {
    return lane.inbox == null ? null : lane.inbox.get(number);
  }

  /** Whether a frame continues a message. */
  static boolean isContinuation(InboundMessage begun, FrameReader frame) {
    return frame.isFragment()
        && begun.content != null
        && begun.totalBytes == frame.total()
        && begun.receivedBytes + frame.length() <= begun.totalBytes;
  }

  /** Whether the budget has room for messages that begin, and count so much. */
  boolean hasRoom(long claimedBytes) {
    return claimedBytes <= budgetBytes - unreadBytes;
  }

  /**
   * What a message counts. The peer has sent all messages with lower numbers, too.
   *
   * @param end one more than the highest number of which anything has arrived
   */
  static long claim(int end, int number, int totalBytes) {
    long messages = Math.max(number - end + 1L, 0);
    return messages * LanesConfig.MESSAGE_OVERHEAD_BYTES + totalBytes;
  }

  /** Counts a message that begins, for which there is room. */
  void begin(LaneInbox inbox, int number, int totalBytes) {
    unreadBytes += (int) claim(inbox.end, number, totalBytes);
    control.received(unreadBytes);
  }

  /** What counted so much on a lane has been read, or need not be. */
  void consumed(Lane lane, int charge) {
    unreadBytes -= charge;
    control.consumed(lane, charge, unreadBytes);
  }
}
