package io.kcp4j.internal.extension;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.UnreliableQueues;
import io.netty.buffer.ByteBuf;

/**
 * The extension of a session with lanes: the offer and the answer say so, and unreliable messages
 * of lanes end the flushes: protocol.md 15. A session whose peer has no lanes ends.
 */
public final class LanesExtension extends Extension {

  private final Kcp kcp;
  private final UnreliableQueues unreliable;
  public final Lanes lanes;

  /** Whether the next message to be written has nothing but unreliable messages of lanes. */
  private boolean hasOnlyUnreliable;

  private LanesExtension(
      Kcp kcp,
      UnreliableQueues unreliable,
      Lanes lanes,
      long token,
      State state,
      long sessionId,
      ResetTokens resetTokens) {
    super(kcp, unreliable, token, state, sessionId, resetTokens);
    this.kcp = kcp;
    this.unreliable = unreliable;
    this.lanes = lanes;
  }

  /** That of a client. */
  public static LanesExtension offering(
      Kcp kcp, UnreliableQueues unreliable, Lanes lanes, long token) {
    return new LanesExtension(kcp, unreliable, lanes, token, State.OFFERING, 0, null);
  }

  /** That of a server. */
  public static LanesExtension listening(
      Kcp kcp,
      UnreliableQueues unreliable,
      Lanes lanes,
      long token,
      long sessionId,
      ResetTokens resetTokens) {
    return new LanesExtension(
        kcp, unreliable, lanes, token, State.LISTENING, sessionId, resetTokens);
  }

  public Lanes lanes() {
    return lanes;
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if they have no room for every message: lanes need them
   */
  @Override
  public void fit(int mssBytes) {
    int least = ExtensionMessage.MAX_BYTES + offerItemsBytes();
    if (mssBytes < least) {
      throw new IllegalArgumentException(
          "mssBytes: " + mssBytes + " (expected: >= " + least + " with lanes)");
    }
    super.fit(mssBytes);
    lanes.unreliableRoomBytes(mssBytes - headerBytes());
  }

  /** What a message has that says nothing. */
  private static int headerBytes() {
    return ExtensionMessage.HEADER_BYTES + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN);
  }

  // Offer and answer

  @Override
  int offerItemsBytes() {
    return ExtensionMessage.itemBytes(ExtensionMessage.LANES);
  }

  @Override
  void writeOfferItems(ByteBuf out) {
    ExtensionMessage.writeLanes(out, lanes.config().maxLanes(), lanes.config().budgetBytes());
  }

  /** At once: the server may have to wait for it with what it sends. */
  @Override
  long confirmDelayUs() {
    return 0;
  }

  @Override
  public boolean received(
      ByteBuf datagram, int index, int length, boolean begins, boolean hasExactAck, long nowUs) {
    boolean isKnown = super.received(datagram, index, length, begins, hasExactAck, nowUs);
    if (!lanes.isOpen() && isUnderstood() && ExtensionMessage.isValid(datagram, index, length)) {
      receiveLanes(datagram, index, index + length);
    }
    return isKnown;
  }

  /** Takes what an offer or an answer of the peer says about lanes. */
  private void receiveLanes(ByteBuf datagram, int index, int end) {
    int type = isClient() ? ExtensionMessage.ANSWER : ExtensionMessage.OFFER;
    if (!has(datagram, index, end, type, peerToken())
        || (isClient() && !has(datagram, index, end, ExtensionMessage.TOKEN, token()))) {
      return;
    }
    int item = ExtensionMessage.find(datagram, index, end, ExtensionMessage.LANES);
    if (item == ExtensionMessage.NONE) {
      lanes.refuse();
      return;
    }
    int maxLanes = ExtensionMessage.maxLanes(datagram, item);
    int budgetBytes = ExtensionMessage.laneBudgetBytes(datagram, item);
    if (!lanes.open(maxLanes, budgetBytes)) {
      lanes.refuse();
      return;
    }
    if (parameters().hasPeer(Parameters.LANE_NUMBERS_32)) {
      lanes.useLongNumbers();
    }
  }

  private static boolean has(ByteBuf datagram, int index, int end, int type, long value) {
    int item = ExtensionMessage.find(datagram, index, end, type);
    return item != ExtensionMessage.NONE && ExtensionMessage.longValue(datagram, item) == value;
  }

  @Override
  public boolean endDatagram(boolean isStale, long nowUs) {
    boolean hasChanged = super.endDatagram(isStale, nowUs);
    if (lanes.isOpen()) {
      return hasChanged;
    }
    if (isUnsupported() && (isClient() || kcp.hasReceived())) {
      lanes.refuse();
    } else if (isClient() && !isUnderstood() && !kcp.isAnswerAwaited()) {
      lanes.offerAgain(); // The offer was acknowledged, and the answer may have been lost.
    }
    return hasChanged;
  }

  // Unreliable messages

  private boolean hasUnreliable() {
    return isEstablished() && lanes.hasUnreliable();
  }

  @Override
  public boolean isDue(long nowUs) {
    return super.isDue(nowUs) || hasUnreliable();
  }

  @Override
  public boolean isIdle() {
    return super.isIdle() && !lanes.hasUnreliable() && !lanes.isUnsupported();
  }

  @Override
  public int messageBytes(int roomBytes, int mostBytes, long nowUs) {
    int bytes = super.messageBytes(roomBytes, mostBytes, nowUs);
    hasOnlyUnreliable = false;
    if (!hasUnreliable()) {
      return bytes;
    }
    if (bytes == 0) {
      return nextMessageBytes(roomBytes, mostBytes);
    }
    return bytes + lanes.planUnreliable(roomBytes - bytes, mostBytes - bytes, false);
  }

  /** One with unreliable messages only. */
  @Override
  public int nextMessageBytes(int roomBytes, int mostBytes) {
    hasOnlyUnreliable = hasUnreliable();
    if (!hasOnlyUnreliable) {
      return 0;
    }
    int header = headerBytes();
    int itemsBytes = lanes.planUnreliable(roomBytes - header, mostBytes - header, true);
    return itemsBytes == 0 ? 0 : header + itemsBytes;
  }

  @Override
  public void write(ByteBuf out, long nowUs) {
    if (hasOnlyUnreliable) {
      ExtensionMessage.writeHeader(out);
      ExtensionMessage.write(out, ExtensionMessage.TOKEN, peerToken());
    } else {
      super.write(out, nowUs);
    }
    lanes.writeUnreliable(out);
  }

  @Override
  void receiveItem(int type, ByteBuf datagram, int item) {
    int value = item + ExtensionMessage.ITEM_HEADER_BYTES;
    int end = item + ExtensionMessage.itemBytesAt(datagram, item);
    if (lanes.receiveUnreliable(type, datagram, value, end - value)) {
      unreliable.noteReceived();
    }
  }
}
