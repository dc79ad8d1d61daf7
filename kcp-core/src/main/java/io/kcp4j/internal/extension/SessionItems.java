package io.kcp4j.internal.extension;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * What both sides of a session say once they know each other's tokens: how they end it, whether the
 * server still knows it, and whether paths are valid. Each part is made when it is first needed.
 */
public final class SessionItems {

  private final Kcp kcp;
  private final Parameters.Exchange parameters;

  /** Null until one of the sides ends the session, or its output. */
  private CloseHandshake closeHandshake;

  /** Of a client: null until the server has told the id of the session. */
  private StatelessResetDetector resetDetector;

  /** Null until one of the sides has challenged the other. */
  private PathValidation pathValidation;

  /** Whether the peer has told, as was not reported, that it has ended the session. */
  private boolean isEndUnreported;

  SessionItems(Kcp kcp, Parameters.Exchange parameters) {
    this.kcp = kcp;
    this.parameters = parameters;
  }

  /** How the sides end the session. */
  public CloseHandshake closeHandshake() {
    if (closeHandshake == null) {
      closeHandshake = new CloseHandshake(kcp);
    }
    return closeHandshake;
  }

  /** The same, or null as long as neither does. */
  public CloseHandshake closeHandshakeOrNull() {
    return closeHandshake;
  }

  /** See {@link Extension#isPeerDone}. */
  boolean isPeerDone() {
    return closeHandshake != null && closeHandshake.isPeerDone();
  }

  /** Whether the peer has told that it has ended the session, as was not reported. */
  boolean isEndUnreported() {
    return isEndUnreported;
  }

  /** The same, which counts as reported from now on. */
  public boolean takeEnd() {
    boolean isUnreported = isEndUnreported;
    isEndUnreported = false;
    return isUnreported;
  }

  /** The peer understands messages from now on. */
  void understood(long nowUs) {
    if (closeHandshake != null) {
      closeHandshake.begin(nowUs);
    }
  }

  /** Whether the peer has proven that it does not know the session, and nothing contradicts it. */
  public boolean isUnknownToPeer(long nowUs) {
    return resetDetector != null && resetDetector.isLost(nowUs);
  }

  /** The server has answered as one that does not know the session at this address. */
  void receivedUnknown(long nowUs) {
    if (resetDetector != null) {
      resetDetector.ask(nowUs);
    }
  }

  /** Something has been received whose sender knows the session. */
  void receivedAlive() {
    if (pathValidation != null) {
      pathValidation.receivedAlive();
    }
    if (resetDetector != null) {
      resetDetector.received();
    }
  }

  /** The peer has responded from another address: it has to answer at this one, or has moved. */
  void challengePath(long challenge, long nowUs) {
    pathValidation().challengeMove(challenge, nowUs);
  }

  /** A datagram has been taken in. */
  void endDatagram(long nowUs) {
    if (kcp.takePeerJump()) {
      pathValidation().challengeClock(nowUs);
    }
  }

  private PathValidation pathValidation() {
    if (pathValidation == null) {
      pathValidation = new PathValidation(kcp);
    }
    return pathValidation;
  }

  // What is due

  /** When an item has to leave, or {@link Time#NO_DEADLINE}. */
  long deadlineUs(Extension.State state) {
    long deadlineUs = Time.NO_DEADLINE;
    if (pathValidation != null) {
      deadlineUs = pathValidation.deadlineUs(mayChallenge(state));
    }
    if (mayEnd(state)) {
      deadlineUs = Math.min(deadlineUs, closeHandshake.deadlineUs());
    }
    return resetDetector == null ? deadlineUs : Math.min(deadlineUs, resetDetector.deadlineUs());
  }

  private boolean mayEnd(Extension.State state) {
    boolean isUnderstood =
        state == Extension.State.ANSWERING || state == Extension.State.ESTABLISHED;
    return closeHandshake != null && isUnderstood;
  }

  /** Messages that have an answer have no room for a challenge. */
  private static boolean mayChallenge(Extension.State state) {
    return state == Extension.State.ESTABLISHED;
  }

  private boolean isQueryDue(long nowUs) {
    return resetDetector != null && resetDetector.isSilent(nowUs);
  }

  /** The size of the items that {@link #write} writes. */
  int bytes(Extension.State state, long nowUs) {
    int bytes = pathValidation == null ? 0 : pathValidation.itemsBytes(mayChallenge(state), nowUs);
    if (mayEnd(state)) {
      bytes += closeHandshake.itemsBytes(nowUs);
    }
    return isQueryDue(nowUs) ? bytes + resetDetector.queryBytes() : bytes;
  }

  /**
   * Writes what is due.
   *
   * @param token what messages to this side have to show
   * @param peerToken what messages to the peer have to show
   */
  void write(ByteBuf out, Extension.State state, long token, long peerToken, long nowUs) {
    if (mayEnd(state)) {
      closeHandshake.write(out, nowUs);
    }
    if (isQueryDue(nowUs)) {
      resetDetector.writeQuery(out, token, peerToken);
    }
    if (pathValidation != null) {
      pathValidation.write(out, mayChallenge(state), token, peerToken, nowUs);
    }
  }

  // What is received

  /** Takes an item of a message that has shown the token; returns whether its type is known. */
  boolean receive(int type, ByteBuf datagram, int item, long nowUs) {
    switch (type) {
      case ExtensionMessage.FIN,
          ExtensionMessage.CLOSE,
          ExtensionMessage.CLOSE_FAILED,
          ExtensionMessage.RESET ->
          receiveEnd(type, ExtensionMessage.intValue(datagram, item), nowUs);
      case ExtensionMessage.END_ACK -> {
        if (closeHandshake != null) {
          closeHandshake.answered(ExtensionMessage.byteValue(datagram, item));
        }
      }
      case ExtensionMessage.REASON -> {
        if (closeHandshake != null) {
          closeHandshake.receivedReason(ExtensionMessage.ReasonItem.read(datagram, item));
        }
      }
      case ExtensionMessage.ENDED -> isEndUnreported = !hasPeerClosed();
      case ExtensionMessage.SESSION -> {
        if (resetDetector == null) {
          resetDetector = StatelessResetDetector.read(kcp, parameters, datagram, item);
        }
      }
      case ExtensionMessage.PATH_CHALLENGE -> receiveChallenge(datagram, item, nowUs);
      case ExtensionMessage.PATH_RESPONSE -> {
        if (pathValidation != null) {
          pathValidation.responded(ExtensionMessage.longValue(datagram, item));
        }
      }
      default -> {
        return false;
      }
    }
    return true;
  }

  /** A peer that has closed the session in order has ended it, too. */
  private boolean hasPeerClosed() {
    return closeHandshake != null && closeHandshake.hasPeerClosed();
  }

  private void receiveEnd(int type, int value, long nowUs) {
    if (type == ExtensionMessage.RESET || kcp.isPossibleEnd(value)) {
      closeHandshake().received(type, value, nowUs);
    } else {
      kcp.counters().add(KcpCounter.EXTENSION_REFUSED, 1);
    }
  }

  /** A challenge that answers a query is taken only while that is outstanding. */
  private void receiveChallenge(ByteBuf datagram, int item, long nowUs) {
    boolean answersQuery = ExtensionMessage.Echo.read(datagram, item) != null;
    if (answersQuery && (resetDetector == null || !resetDetector.isAnswer(datagram, item))) {
      return;
    }
    pathValidation().received(ExtensionMessage.longValue(datagram, item), nowUs);
  }

  /** Takes the item STATELESS_RESET of a message without a token. */
  void receiveReset(ByteBuf datagram, int item, long nowUs) {
    if (resetDetector == null || !resetDetector.receiveReset(datagram, item, nowUs)) {
      kcp.counters().add(KcpCounter.STATELESS_RESETS_REFUSED, 1);
    }
  }
}
