package io.kcp4j.internal.extension;

import io.kcp4j.CloseReason;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * How the two sides of a session end it: protocol.md 13.4. What this side says leaves three times,
 * and three times again after each timeout until the peer has answered. What the peer says is
 * answered each time.
 */
public final class CloseHandshake {

  /** So many copies of a message leave soon after it, in case it is lost. */
  public static final int COPIES = 2;

  /** How much later than a message, or the copy before, a copy leaves. */
  public static final int COPY_DELAY_US = 1_000;

  /**
   * So often a message is repeated after the same timeout, before the timeout doubles each time.
   */
  private static final int EQUAL_TIMEOUTS = 3;

  private static final long MAX_TIMEOUT_US = 60_000_000;

  private final Kcp kcp;

  /** Types of {@link ExtensionMessage}; 0 for nothing yet. */
  private int type;

  /** The code of a RESET; the final sequence number of a CLOSE_FAILED. */
  private int code;

  /** When to send it next; {@link Time#NO_DEADLINE} once it has been answered. */
  private long sendAtUs = Time.NO_DEADLINE;

  /** How often it has been sent, not counting copies. */
  private int sent;

  /** The copies that have left since the last timeout. */
  private int copies;

  /** What the application says about a CLOSE, or null. */
  private CloseReason reason;

  private int peerType;
  private int peerValue;

  /** What the peer's application has said about a CLOSE, or null. */
  private CloseReason peerReason;

  /** The strongest type that the peer has sent, which END_ACK repeats. */
  private int answerType;

  /** Whether nothing is left but to answer the peer. */
  private boolean isDraining;

  /** When to answer what the peer has said. */
  private long answerAtUs = Time.NO_DEADLINE;

  CloseHandshake(Kcp kcp) {
    this.kcp = kcp;
  }

  /**
   * This side ends the session, or its output. What is stronger replaces what was said before.
   *
   * @param code the code of a RESET, or the final sequence number of a CLOSE_FAILED
   */
  public void end(int type, int code, long nowUs) {
    if (strength(type) > strength(this.type)) {
      this.type = type;
      this.code = code;
      begin(nowUs);
    }
  }

  /** Adds to a CLOSE what the application says about it. To be called before {@link #end}. */
  public void reason(CloseReason reason) {
    if (type < ExtensionMessage.CLOSE) {
      this.reason = reason;
    }
  }

  /** CLOSE_FAILED stands between CLOSE and RESET. */
  private static int strength(int type) {
    return type == ExtensionMessage.CLOSE_FAILED ? 2 * ExtensionMessage.CLOSE + 1 : 2 * type;
  }

  /** Sends it from now on: the peer understands messages. */
  void begin(long nowUs) {
    if (type != 0) {
      sendAtUs = nowUs;
      sent = 0;
      copies = 0;
    }
  }

  /**
   * The peer has said so. Its final sequence number does not change, but if it gives up closing,
   * nothing is awaited that has not arrived.
   */
  void received(int type, int value, long nowUs) {
    boolean isComplete = type == ExtensionMessage.CLOSE_FAILED && kcp.isReceivedInOrder(value);
    int effective = isComplete ? ExtensionMessage.CLOSE : type;
    if (strength(effective) > strength(peerType)) {
      boolean isFinalSnKnown = peerType != 0 && effective <= ExtensionMessage.CLOSE;
      peerType = effective;
      if (effective == ExtensionMessage.CLOSE_FAILED) {
        peerValue = kcp.receiveNext();
      } else if (!isFinalSnKnown) {
        peerValue = value;
      }
    }
    answerType = strength(type) > strength(answerType) ? type : answerType;
    answerAtUs = nowUs;
  }

  /** The peer has said this about its CLOSE, which the same message has. */
  void receivedReason(CloseReason reason) {
    if (peerReason == null && hasPeerClosed()) {
      peerReason = reason;
    }
  }

  /** The peer has received what this side has said. */
  void answered(int type) {
    if (type == this.type) {
      sendAtUs = Time.NO_DEADLINE;
    }
  }

  /** Whether this side has said something, and the peer has not answered yet. */
  boolean isUnanswered() {
    return sendAtUs != Time.NO_DEADLINE;
  }

  /**
   * This side ends the session, too, which the peer has closed. It sends nothing more, but answers
   * what the peer repeats because an answer was lost, as TCP does in TIME-WAIT.
   */
  public void drain(long nowUs) {
    isDraining = true;
    sendAtUs = Time.NO_DEADLINE;
    kcp.discardOutput(nowUs);
  }

  /** Whether the peer knows how this side has ended, and has all that it still wants. */
  public boolean isAnswered() {
    return !isDraining && !isUnanswered() && (isGivenUp() || kcp.isDrained());
  }

  /** Whether this side has aborted the session, or given up closing it. */
  boolean isGivenUp() {
    return type == ExtensionMessage.RESET || type == ExtensionMessage.CLOSE_FAILED;
  }

  /** Whether the peer sends nothing from {@link #peerValue} on, a sequence number. */
  public boolean hasPeerFinished() {
    return peerType != 0 && !hasPeerReset();
  }

  /**
   * Whether the peer reads no more, all has been received that is awaited of it, and nothing is to
   * be sent to it.
   */
  boolean isPeerDone() {
    return hasPeerClosed()
        && !hasPeerReset()
        && kcp.isReceivedInOrder(peerValue)
        && kcp.isDrained();
  }

  /** Whether the peer reads no more. */
  public boolean hasPeerClosed() {
    return peerType >= ExtensionMessage.CLOSE;
  }

  /** Whether the peer has given up closing, and not all that it has sent has arrived. */
  public boolean hasPeerGivenUp() {
    return peerType == ExtensionMessage.CLOSE_FAILED;
  }

  public boolean hasPeerReset() {
    return peerType == ExtensionMessage.RESET;
  }

  /** The final sequence number or the code of the peer. */
  public int peerValue() {
    return peerValue;
  }

  /**
   * What the peer's application has said about the end, once everything that precedes the end has
   * been received; null if it has said nothing, or if it has not closed.
   */
  public CloseReason peerReason() {
    if (hasPeerReset()) {
      return new CloseReason(peerValue, "");
    }
    boolean isComplete = peerType == ExtensionMessage.CLOSE && kcp.isReceivedInOrder(peerValue);
    return isComplete ? peerReason : null;
  }

  /** Whether the peer has to be answered. */
  public boolean isAnswerDue() {
    return answerAtUs != Time.NO_DEADLINE;
  }

  /** When something has to be sent. A final sequence number waits until all below it has left. */
  long deadlineUs() {
    return isSayable() ? Math.min(sendAtUs, answerAtUs) : answerAtUs;
  }

  private boolean isSayable() {
    return isGivenUp() || kcp.isAllSent();
  }

  private boolean isDue(long nowUs) {
    return sendAtUs <= nowUs && isSayable();
  }

  /** The size of the items that {@link #write} writes. */
  int itemsBytes(long nowUs) {
    int bytes = isDue(nowUs) ? ExtensionMessage.itemBytes(type) + reasonBytes() : 0;
    return isAnswerDue() ? bytes + ExtensionMessage.itemBytes(ExtensionMessage.END_ACK) : bytes;
  }

  private int reasonBytes() {
    return isReasonSaid()
        ? ExtensionMessage.itemBytes(ExtensionMessage.REASON) + reasonText().length
        : 0;
  }

  /** Whether there is a reason, of a close, for which segments have room. */
  private boolean isReasonSaid() {
    return reason != null
        && type == ExtensionMessage.CLOSE
        && kcp.mssBytes()
            >= ExtensionMessage.MAX_BYTES
                + ExtensionMessage.ReasonItem.maxBytes(ExtensionMessage.REASON);
  }

  private byte[] reasonText() {
    return ExtensionMessage.ReasonItem.text(reason, CloseReason.MAX_TEXT_BYTES);
  }

  /** Writes what is due. */
  void write(ByteBuf out, long nowUs) {
    if (isAnswerDue()) {
      ExtensionMessage.write(out, ExtensionMessage.END_ACK, answerType);
      answerAtUs = Time.NO_DEADLINE;
    }
    if (isDue(nowUs)) {
      ExtensionMessage.write(out, type, value());
      if (isReasonSaid()) {
        ExtensionMessage.ReasonItem.write(
            out, ExtensionMessage.REASON, reason.code(), reasonText());
      }
      if (copies == 0) {
        sent++;
      }
      if (copies < COPIES) {
        copies++;
        sendAtUs = nowUs + COPY_DELAY_US;
      } else {
        copies = 0;
        sendAtUs = nowUs + timeoutUs();
      }
    }
  }

  private int value() {
    return isGivenUp() ? code : kcp.sendNext();
  }

  private long timeoutUs() {
    int doublings = Math.min(Math.max(sent - EQUAL_TIMEOUTS, 0), 16);
    return Math.min((long) kcp.probeTimeoutUs() << doublings, MAX_TIMEOUT_US);
  }
}
