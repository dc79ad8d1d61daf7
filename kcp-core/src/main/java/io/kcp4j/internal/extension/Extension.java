package io.kcp4j.internal.extension;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.UnreliableQueues;
import io.kcp4j.internal.wire.KcpExtension;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * The extension of one session, of which peers without it notice nothing: protocol.md 13. The
 * client offers it, the server answers, and the client confirms. Each side chooses a token that all
 * further messages to it have to show, and learns the peer's token only where nobody who is not on
 * the path can have forged it. A token that has been taken never changes; before that, a retry of
 * the server may replace the token of a client. Then either side can tell the other how it ends the
 * session: see {@link CloseHandshake}.
 */
public class Extension implements KcpExtension {

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
  public final Offers.Token token;

  /** What this side has to show. */
  private long peerToken;

  private State state;

  /** Whether segments have room for every message. Without it the extension pauses. */
  private boolean hasRoom = true;

  /** Of a client: its offers. Null once there are no more. */
  private Offers offers;

  /** When a server has answered last. */
  private long answeredAtUs = Long.MIN_VALUE;

  /** When the confirmation of an answer has to leave. */
  private long confirmAtUs = Time.NO_DEADLINE;

  /** Of a server: the id of the session; and its tokens, or null. */
  public final long sessionId;

  private final ResetTokens resetTokens;

  private final boolean isClient;
  public final Parameters.Exchange parameters;
  public final SessionItems items;

  /** Whether the id of the session is handed out from now on, as the table has not been told. */
  private boolean isIdUnreported;

  Extension(
      Kcp kcp,
      UnreliableQueues unreliable,
      long token,
      State state,
      long sessionId,
      ResetTokens resetTokens) {
    this.kcp = kcp;
    this.unreliable = unreliable;
    this.token = new Offers.Token(token);
    this.state = state;
    this.isClient = state == State.OFFERING;
    int incarnation = isClient ? Parameters.incarnation(token) : 0;
    boolean hasLanes = kcp.config().delivery() == Delivery.LANES;
    this.parameters = new Parameters.Exchange(kcp, incarnation, hasLanes);
    this.items = new SessionItems(kcp, parameters);
    this.offers = isClient ? new Offers(kcp) : null;
    this.sessionId = sessionId;
    this.resetTokens = resetTokens;
  }

  /** The extension of a client, which offers it. */
  public static Extension offering(Kcp kcp, UnreliableQueues unreliable, long token) {
    return new Extension(kcp, unreliable, token, State.OFFERING, 0, null);
  }

  /** The extension of a server, which answers an offer, and reserves no room. */
  public static Extension listening(
      Kcp kcp, UnreliableQueues unreliable, long token, long sessionId, ResetTokens resetTokens) {
    return new Extension(kcp, unreliable, token, State.LISTENING, sessionId, resetTokens);
  }

  /** Whether both sides know that the other has the extension. */
  public boolean isEstablished() {
    return state == State.ESTABLISHED;
  }

  /** Whether the peer understands messages: those to a client show that this is the server. */
  public boolean isUnderstood() {
    return hasRoom && (state == State.ANSWERING || state == State.ESTABLISHED);
  }

  /** Whether the peer does not have the extension, as far as is known. */
  public boolean isUnsupported() {
    return !hasRoom || state == State.LISTENING || (state == State.OFFERING && !isOffering());
  }

  boolean isClient() {
    return isClient;
  }

  /** Of a server that takes offers: whether the client has not confirmed the answer to one. */
  public boolean isConfirmationAwaited() {
    return hasRoom && (state == State.LISTENING || state == State.ANSWERING);
  }

  /**
   * What the next acknowledgement takes with its answer: until the client has confirmed one, an
   * acknowledgement without would tell it that this server has no extension.
   */
  public int unconfirmedAnswerBytes() {
    return state == State.ANSWERING
        ? 2 * Segment.HEADER_BYTES + ExtensionMessage.MAX_BYTES + offerItemsBytes()
        : 0;
  }

  /** What both sides have said about themselves. */
  public Parameters.Exchange parameters() {
    return parameters;
  }

  /** Whether something has happened that the table has to know. */
  public boolean hasNews() {
    return isIdUnreported || parameters.hasNews() || items.isEndUnreported();
  }

  /** Of a server: whether the client learns the id of the session, as was not known before. */
  public boolean takeIdHandedOut() {
    boolean isUnreported = isIdUnreported;
    isIdUnreported = false;
    return isUnreported;
  }

  /** Of a server: the id of the session. */
  public long sessionId() {
    return sessionId;
  }

  // Offers

  @Override
  public boolean isOffering() {
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
  public int offerSn() {
    return parameters.offerSn();
  }

  @Override
  public int offerTs(int ts) {
    return parameters.offerTs(ts);
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
   * @param isStale whether its sender may not know the session, or it may be a replay
   * @return whether {@link #reservedBytes} has changed
   */
  public boolean endDatagram(boolean isStale, long nowUs) {
    if (token.pollFirstRetry()) {
      kcp.retransmitFirst(nowUs);
    }
    if (!isStale) {
      items.receivedAlive();
    }
    items.endDatagram(nowUs);
    if (offers == null) {
      return false;
    }
    offers.endDatagram(isStale);
    if (isOffering()) {
      return false;
    }
    offers = null;
    return true;
  }

  /** The peer has responded from another address: it has to answer at this one, or has moved. */
  public void challengePath(long challenge, long nowUs) {
    items.challengePath(challenge, nowUs);
  }

  // The end of the session

  /** The items of established messages: the end of the session, queries, path validation. */
  public SessionItems items() {
    return items;
  }

  @Override
  public boolean isPeerDone() {
    return items.isPeerDone();
  }

  @Override
  public long deadlineUs() {
    long offersUs = offers == null ? Time.NO_DEADLINE : offers.deadlineUs();
    return hasRoom
        ? Math.min(Math.min(confirmAtUs, offersUs), items.deadlineUs(state))
        : Time.NO_DEADLINE;
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
    int itemsBytes = itemsBytes(nowUs);
    if (isAnswerDue(itemsBytes, nowUs)) {
      itemsBytes += ExtensionMessage.itemBytes(ExtensionMessage.ANSWER);
      itemsBytes += resetTokens == null ? 0 : ExtensionMessage.itemBytes(ExtensionMessage.SESSION);
      itemsBytes += parameters.answerBytes();
      itemsBytes += offerItemsBytes();
    }
    return itemsBytes == 0 && confirmAtUs == Time.NO_DEADLINE
        ? 0
        : ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + itemsBytes;
  }

  /** The size of the items that are due, but for those of an answer. */
  private int itemsBytes(long nowUs) {
    int parametersBytes = confirmAtUs == Time.NO_DEADLINE ? 0 : parameters.confirmationBytes();
    return parametersBytes + items.bytes(state, nowUs);
  }

  /** Whether this message has to have an answer: one of each flush, and each with other items. */
  private boolean isAnswerDue(int itemsBytes, long nowUs) {
    return state == State.ANSWERING && (itemsBytes > 0 || answeredAtUs != nowUs);
  }

  @Override
  public void write(ByteBuf out, long nowUs) {
    ExtensionMessage.writeHeader(out);
    if (isOffering()) {
      ExtensionMessage.write(out, ExtensionMessage.OFFER, token());
      parameters.writeOffer(out);
      writeOfferItems(out);
      return;
    }
    ExtensionMessage.write(out, ExtensionMessage.TOKEN, peerToken);
    if (isAnswerDue(itemsBytes(nowUs), nowUs)) {
      ExtensionMessage.write(out, ExtensionMessage.ANSWER, token());
      ExtensionMessage.writeSession(out, sessionId, resetTokens);
      parameters.writeAnswer(out);
      writeOfferItems(out);
      answeredAtUs = nowUs;
    }
    if (confirmAtUs != Time.NO_DEADLINE) {
      parameters.writeConfirmation(out);
    }
    items.write(out, state, token(), peerToken, nowUs);
    confirmAtUs = Time.NO_DEADLINE;
  }

  private int offerMessageBytes() {
    return ExtensionMessage.OFFER_BYTES + parameters.offerBytes() + offerItemsBytes();
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
  public long token() {
    return token.present();
  }

  /** What messages to the peer have to show. */
  public long peerToken() {
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
    boolean isOffered = false;
    int end = index + length;
    for (int item = index + ExtensionMessage.HEADER_BYTES;
        item < end;
        item += ExtensionMessage.itemBytesAt(datagram, item)) {
      int type = ExtensionMessage.type(datagram, item);
      isKnown &= !ExtensionMessage.isOfUnknownSession(type);
      if (type == ExtensionMessage.OFFER) {
        // The datagram has begun the session, or proves where its sender is.
        if (state == State.LISTENING && (begins || hasExactAck)) {
          peerToken = ExtensionMessage.longValue(datagram, item);
          parameters.receiveHeader(datagram, index - Segment.HEADER_BYTES, nowUs);
          understood(State.ANSWERING, nowUs);
          isOffered = true;
          isIdUnreported = resetTokens != null;
        } else {
          parameters.receiveFurtherOffer(datagram, index, end);
        }
      } else if (type == ExtensionMessage.PARAMETERS && isOffered) {
        parameters.receive(datagram, item, nowUs);
      } else if (type == ExtensionMessage.TOKEN) {
        showsToken = takeToken(ExtensionMessage.longValue(datagram, item));
      } else if (type == ExtensionMessage.STATELESS_RESET) {
        items.receiveReset(datagram, item, nowUs);
      } else if (type == ExtensionMessage.RETRY) {
        receiveRetry(ExtensionMessage.longValue(datagram, item), showsToken, nowUs);
      } else if (type == ExtensionMessage.REFUSED) {
        if (showsToken && isOffering()) {
          offers.refused(ExtensionMessage.ReasonItem.read(datagram, item), nowUs);
        }
      } else if (showsToken) {
        isKnown &= !ExtensionMessage.isQueryChallenge(datagram, item);
        receive(type, datagram, item, hasExactAck, nowUs);
      }
    }
    return isKnown;
  }

  /** Takes an item of another type, of a message that has shown the token. */
  void receiveItem(int type, ByteBuf datagram, int item) {}

  /** A server that has dropped the first datagram asks for another token: protocol.md 13.6.2. */
  private void receiveRetry(long retryToken, boolean showsToken, long nowUs) {
    if (showsToken && !isOffering()) {
      items.receivedUnknown(nowUs);
    } else if (showsToken && token.replace(retryToken, kcp.counters())) {
      offers.clear();
    }
  }

  /** Of a client: its offers, or null. */
  public Offers offers() {
    return offers;
  }

  /** The peer understands messages from now on. */
  private void understood(State next, long nowUs) {
    state = next;
    items.understood(nowUs);
  }

  /** Whether the peer has shown a token that it has to show. */
  private boolean takeToken(long shown) {
    if (!token.take(shown, state == State.OFFERING)) {
      return false;
    }
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
      case ExtensionMessage.PARAMETERS -> parameters.receive(datagram, item, nowUs);
      case ExtensionMessage.DATAGRAM -> unreliable.receiveItem(datagram, item);
      default -> {
        if (!items.receive(type, datagram, item, nowUs)) {
          receiveItem(type, datagram, item); // or taken above, or of a later version
        }
      }
    }
  }

  private void receiveAnswer(long answered, boolean hasExactAck, long nowUs) {
    if (state == State.OFFERING && hasExactAck) {
      token.confirm();
      peerToken = answered;
      understood(State.ESTABLISHED, nowUs);
    }
    if (state == State.ESTABLISHED && answered == peerToken && confirmAtUs == Time.NO_DEADLINE) {
      confirmAtUs = nowUs + confirmDelayUs();
    }
  }
}
