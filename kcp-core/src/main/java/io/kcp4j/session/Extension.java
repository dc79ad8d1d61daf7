package io.kcp4j.session;

import io.kcp4j.Delivery;
import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpExtension;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/**
 * The extension of one session, of which peers without it notice nothing: protocol.md 13. The
 * client offers it, the server answers, and the client confirms. Each side chooses a token that all
 * further messages to it have to show, and learns the peer's token only where nobody who is not on
 * the path can have forged it. A token that has been taken never changes; before that, a retry of
 * the server may replace the token of a client.
 *
 * <p>Then either side can tell the other how it ends the session: see {@link CloseHandshake}.
 */
class Extension implements KcpExtension {

  enum State {
    /** A client that has no answer yet. */
    OFFERING,
    /** A server that has received no offer. */
    LISTENING,
    /** A server whose answer has not been confirmed yet. */
    ANSWERING,
    /** Both sides know both tokens. */
    ESTABLISHED
  }

  private final Kcp kcp;
  private final UnreliableQueues unreliable;

  /** What the peer has to show. */
  private long token;

  /** Of a client: the token of its first offers, which may be answered after a retry, too. */
  private final long firstToken;

  /** Of a client: the token before the last retry, which offers under way have. */
  private long previousToken;

  /** What the peer has shown last. */
  private long shownToken;

  /** What this side has to show. */
  private long peerToken;

  private State state;

  /** Whether segments have room for every message. Without it the extension pauses. */
  private boolean hasRoom = true;

  /** Of a client: its offers. Null once there are no more. */
  private Offers offers;

  /** Whether the present datagram tells to offer with another token. */
  private boolean isRetry;

  /** When a server has answered last. */
  private long answeredAtUs = Long.MIN_VALUE;

  /** When the confirmation of an answer has to leave. */
  private long confirmAtUs = Kcp.NO_DEADLINE;

  /** Null until the peer has challenged the path. */
  private PathResponder pathResponder;

  /** Null until one of the sides ends the session, or its output. */
  private CloseHandshake closeHandshake;

  /** Of a server: the id of the session; and its tokens, or null. */
  private final long sessionId;

  private final ResetTokens resetTokens;

  /** Of a client: null until the server has told the id of the session. */
  private StatelessResetDetector resetDetector;

  Extension(
      Kcp kcp,
      UnreliableQueues unreliable,
      long token,
      State state,
      long sessionId,
      ResetTokens resetTokens) {
    this.kcp = kcp;
    this.unreliable = unreliable;
    this.token = token;
    this.firstToken = token;
    this.previousToken = token;
    this.state = state;
    this.offers = state == State.OFFERING ? new Offers(kcp) : null;
    this.sessionId = sessionId;
    this.resetTokens = resetTokens;
  }

  /** The extension of a client, which offers it. */
  static Extension offering(Kcp kcp, UnreliableQueues unreliable, long token) {
    return new Extension(kcp, unreliable, token, State.OFFERING, 0, null);
  }

  /** The extension of a server, which answers an offer, and reserves no room. */
  static Extension listening(
      Kcp kcp, UnreliableQueues unreliable, long token, long sessionId, ResetTokens resetTokens) {
    return new Extension(kcp, unreliable, token, State.LISTENING, sessionId, resetTokens);
  }

  /** Whether both sides know that the other has the extension. */
  boolean isEstablished() {
    return state == State.ESTABLISHED;
  }

  /** Whether the peer understands messages: those to a client show that this is the server. */
  boolean isUnderstood() {
    return hasRoom && (state == State.ANSWERING || state == State.ESTABLISHED);
  }

  /** Whether the peer does not have the extension, as far as is known. */
  boolean isUnsupported() {
    return !hasRoom || state == State.LISTENING || (state == State.OFFERING && !isOffering());
  }

  // Offers

  private boolean isOffering() {
    Offers current = offers; // Other threads ask, too.
    return state == State.OFFERING && current != null && current.mayContinue();
  }

  @Override
  public int reservedBytes() {
    boolean isMessages = kcp.config().delivery() == Delivery.MESSAGE;
    boolean isReserved = hasRoom && !isMessages && isOffering();
    return isReserved ? Segment.HEADER_BYTES + offerMessageBytes() : 0;
  }

  /** Segments have so many bytes. While they have no room for every message, none is sent. */
  @Override
  public void fit(int mssBytes) {
    hasRoom = mssBytes >= ExtensionMessage.MAX_BYTES + offerItemsBytes();
  }

  @Override
  public int offerBytes(int sn) {
    return hasRoom && isOffering() && offers.hasRoomFor(sn) ? offerMessageBytes() : 0;
  }

  @Override
  public void offered(int sn, int ts) {
    offers.add(sn, ts);
  }

  @Override
  public void acknowledged(int sn, int ts) {
    if (isOffering()) {
      offers.acknowledged(sn, ts);
    }
  }

  /**
   * A datagram has been taken in, its message as well.
   *
   * @param isStale whether its sender may not know the session
   * @return whether {@link #reservedBytes} has changed
   */
  boolean endDatagram(boolean isStale, long nowUs) {
    if (isRetry) {
      isRetry = false;
      kcp.retransmitFirst(nowUs);
    }
    if (resetDetector != null && !isStale) {
      resetDetector.received();
    }
    if (offers == null) {
      return false;
    }
    offers.endDatagram();
    if (isOffering()) {
      return false;
    }
    offers = null;
    return true;
  }

  // The end of the session

  /**
   * Tells the peer how this side ends the session, as soon as it is known that the peer has the
   * extension.
   *
   * @param type FIN, CLOSE or RESET; a later one replaces it
   * @param code that of a RESET
   */
  void end(int type, int code, long nowUs) {
    closeHandshake().end(type, code, nowUs);
  }

  private CloseHandshake closeHandshake() {
    if (closeHandshake == null) {
      closeHandshake = new CloseHandshake(kcp);
    }
    return closeHandshake;
  }

  /** How the sides end the session, or null as long as neither does. */
  CloseHandshake closeHandshakeOrNull() {
    return closeHandshake;
  }

  /** Whether the peer has proven that it does not know the session, and nothing contradicts it. */
  boolean isUnknownToPeer(long nowUs) {
    return resetDetector != null && resetDetector.isLost(nowUs);
  }

  // Messages

  @Override
  public long deadlineUs() {
    if (!hasRoom) {
      return Kcp.NO_DEADLINE;
    }
    long deadlineUs = confirmAtUs;
    if (pathResponder != null) {
      deadlineUs = Math.min(deadlineUs, pathResponder.deadlineUs());
    }
    if (closeHandshake != null && isUnderstood()) {
      deadlineUs = Math.min(deadlineUs, closeHandshake.deadlineUs());
    }
    return resetDetector == null ? deadlineUs : Math.min(deadlineUs, resetDetector.deadlineUs());
  }

  @Override
  public int ackMessageBytes(long nowUs) {
    return state == State.ANSWERING ? messageBytes(0, 0, nowUs) : 0;
  }

  @Override
  public int messageBytes(int roomBytes, int mostBytes, long nowUs) {
    if (!hasRoom) {
      return 0;
    }
    int items = itemsBytes(nowUs);
    if (isAnswerDue(items, nowUs)) {
      items += ExtensionMessage.itemBytes(ExtensionMessage.ANSWER);
      items += resetTokens == null ? 0 : ExtensionMessage.itemBytes(ExtensionMessage.SESSION);
      items += offerItemsBytes();
    }
    return items == 0 && confirmAtUs == Kcp.NO_DEADLINE
        ? 0
        : ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + items;
  }

  /** The size of the items that are due, but for those of an answer. */
  private int itemsBytes(long nowUs) {
    int bytes = 0;
    if (closeHandshake != null && isUnderstood()) {
      bytes += closeHandshake.itemsBytes(nowUs);
    }
    if (resetDetector != null && resetDetector.isSilent(nowUs)) {
      bytes += ExtensionMessage.itemBytes(ExtensionMessage.SESSION_QUERY);
    }
    return pathResponder == null ? bytes : bytes + pathResponder.itemBytes();
  }

  /** Whether this message has to have an answer: one of each flush, and each with other items. */
  private boolean isAnswerDue(int itemsBytes, long nowUs) {
    return state == State.ANSWERING && (itemsBytes > 0 || answeredAtUs != nowUs);
  }

  @Override
  public void write(ByteBuf out, long nowUs) {
    ExtensionMessage.writeHeader(out);
    if (isOffering()) {
      ExtensionMessage.write(out, ExtensionMessage.OFFER, token);
      writeOfferItems(out);
      return;
    }
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, peerToken);
    if (isAnswerDue(itemsBytes(nowUs), nowUs)) {
      ExtensionMessage.write(out, ExtensionMessage.ANSWER, token);
      ExtensionMessage.writeSession(out, sessionId, resetTokens);
      writeOfferItems(out);
      answeredAtUs = nowUs;
    }
    if (closeHandshake != null && isUnderstood()) {
      closeHandshake.write(out, nowUs);
    }
    if (resetDetector != null && resetDetector.isSilent(nowUs)) {
      resetDetector.writeQuery(out);
    }
    if (pathResponder != null) {
      pathResponder.write(out);
    }
    confirmAtUs = Kcp.NO_DEADLINE;
  }

  private int offerMessageBytes() {
    return ExtensionMessage.OFFER_BYTES + offerItemsBytes();
  }

  /** What offers and answers say beside their tokens, in bytes. */
  int offerItemsBytes() {
    return 0;
  }

  /** Writes that. */
  void writeOfferItems(ByteBuf out) {}

  /** How long the confirmation of an answer may wait, in microseconds. */
  long confirmDelayUs() {
    return 1_000L * kcp.config().intervalMs();
  }

  /** What messages from the peer have to show. */
  long token() {
    return token;
  }

  /** What messages to the peer have to show. */
  long peerToken() {
    return peerToken;
  }

  @Override
  public boolean received(
      ByteBuf datagram, int index, int length, boolean begins, boolean hasExactAck, long nowUs) {
    if (!ExtensionMessage.isValid(datagram, index, length)) {
      kcp.counters().add(KcpCounter.EXTENSION_REFUSED, 1);
      return true;
    }
    boolean showsToken = false;
    boolean isKnown = true;
    int end = index + length;
    for (int item = index + ExtensionMessage.HEADER_BYTES;
        item < end;
        item += ExtensionMessage.itemBytesAt(datagram, item)) {
      int type = ExtensionMessage.type(datagram, item);
      if (type == ExtensionMessage.OFFER) {
        // The datagram has begun the session, or proves where its sender is.
        if (state == State.LISTENING && (begins || hasExactAck)) {
          peerToken = ExtensionMessage.longValue(datagram, item);
          understood(State.ANSWERING, nowUs);
        }
      } else if (type == ExtensionMessage.TOKEN) {
        showsToken = takeToken(ExtensionMessage.longValue(datagram, item));
      } else if (type == ExtensionMessage.STATELESS_RESET) {
        isKnown = false;
        if (resetDetector != null) {
          resetDetector.receiveReset(datagram, item, nowUs);
        }
      } else if (type == ExtensionMessage.RETRY) {
        isKnown = false;
        receiveRetry(ExtensionMessage.longValue(datagram, item), showsToken);
      } else if (showsToken) {
        receive(type, datagram, item, hasExactAck, nowUs);
      }
    }
    return isKnown;
  }

  /** Takes an item of another type, of a message that has shown the token. */
  void receiveItem(int type, ByteBuf datagram, int item) {}

  /** A server that has dropped the first datagram asks for another token. */
  private void receiveRetry(long retryToken, boolean showsToken) {
    if (showsToken && shownToken == token && isOffering()) {
      previousToken = token;
      token = retryToken;
      offers.clear();
      isRetry = true;
    }
  }

  /** The peer understands messages from now on. */
  private void understood(State next, long nowUs) {
    state = next;
    if (closeHandshake != null) {
      closeHandshake.begin(nowUs);
    }
  }

  /** Whether the peer has shown a token that it has to show. */
  private boolean takeToken(long shown) {
    boolean isEarlier = shown == firstToken || shown == previousToken;
    if (shown != token && (state != State.OFFERING || !isEarlier)) {
      return false;
    }
    shownToken = shown;
    if (state == State.ANSWERING) {
      state = State.ESTABLISHED;
    }
    return true;
  }

  /** Takes an item of a message that has shown the token. */
  private void receive(int type, ByteBuf datagram, int item, boolean hasExactAck, long nowUs) {
    if (type == ExtensionMessage.ANSWER) {
      receiveAnswer(ExtensionMessage.longValue(datagram, item), hasExactAck, nowUs);
    } else if (state != State.ESTABLISHED) {
      return; // An answer that proves nothing, and what follows it.
    }
    switch (type) {
      case ExtensionMessage.FIN, ExtensionMessage.CLOSE -> {
        int sn = ExtensionMessage.intValue(datagram, item);
        if (kcp.isPossibleEnd(sn)) {
          closeHandshake().received(type, sn, nowUs);
        } else {
          kcp.counters().add(KcpCounter.EXTENSION_REFUSED, 1);
        }
      }
      case ExtensionMessage.RESET ->
          closeHandshake().received(type, ExtensionMessage.intValue(datagram, item), nowUs);
      case ExtensionMessage.END_ACK -> {
        if (closeHandshake != null) {
          closeHandshake.answered(ExtensionMessage.byteValue(datagram, item));
        }
      }
      case ExtensionMessage.SESSION -> {
        if (resetDetector == null) {
          resetDetector = StatelessResetDetector.read(kcp, datagram, item);
        }
      }
      case ExtensionMessage.PATH_CHALLENGE -> {
        if (pathResponder == null) {
          pathResponder = new PathResponder();
        }
        pathResponder.received(ExtensionMessage.longValue(datagram, item), nowUs);
      }
      case ExtensionMessage.DATAGRAM -> unreliable.receiveItem(datagram, item);
      default -> receiveItem(type, datagram, item); // or taken above, or of a later version
    }
  }

  private void receiveAnswer(long answered, boolean hasExactAck, long nowUs) {
    if (state == State.OFFERING && hasExactAck) {
      token = shownToken;
      peerToken = answered;
      understood(State.ESTABLISHED, nowUs);
    }
    if (state == State.ESTABLISHED && answered == peerToken && confirmAtUs == Kcp.NO_DEADLINE) {
      confirmAtUs = nowUs + confirmDelayUs();
    }
  }
}
