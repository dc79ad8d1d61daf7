package io.kcp4j.session;

import io.kcp4j.Delivery;
import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/**
 * The {@link Parameters} of both sides of a session, and where in messages they are: a client says
 * its own in an offer, and a server answers with its own only a client that does: protocol.md 13.8.
 */
final class ParameterExchange {

  private final Kcp kcp;
  private final int incarnation;

  /** Whether an offer has no room for the item, and the header of its WINS has the parameters. */
  private final boolean isInHeader;

  /** Null until the peer has told them: one of an earlier version never does. */
  private Parameters peer;

  /** Whether it has turned out, and not been reported, that the peer delivers otherwise. */
  private boolean isMismatchUnreported;

  /** Whether a client has made an offer, as was not reported, that has begun again. */
  private boolean isSuccessorUnreported;

  /**
   * Makes the parameters of a side.
   *
   * @param incarnation that of a client; 0 of a server
   */
  ParameterExchange(Kcp kcp, int incarnation, boolean isInHeader) {
    this.kcp = kcp;
    this.incarnation = incarnation;
    this.isInHeader = isInHeader;
  }

  private Parameters own() {
    return Parameters.own(incarnation, kcp);
  }

  // What the peer says

  /** What the peer has said about itself, or null. */
  Parameters peer() {
    return peer;
  }

  /** Whether the peer is known to have what a flag of {@link Parameters} says. */
  boolean hasPeer(int flag) {
    return peer != null && peer.has(flag);
  }

  /** Takes what the header of an offer's WINS at {@code index} says, if that is anything. */
  void receiveHeader(ByteBuf datagram, int index, long nowUs) {
    if (Segment.sn(datagram, index) != 0) {
      take(Parameters.readHeader(datagram, index), nowUs);
    }
  }

  /** Takes an item; those of a peer do not change. */
  void receive(ByteBuf datagram, int item, long nowUs) {
    take(Parameters.read(datagram, item), nowUs);
  }

  /**
   * A client has made an offer to a server that has taken one before.
   *
   * @param message the index of its message, which ends at {@code end}
   */
  void receiveFurtherOffer(ByteBuf datagram, int message, int end) {
    if (peer != null) {
      int offered = Parameters.offeredIncarnation(datagram, message, end);
      isSuccessorUnreported |= offered != 0 && offered != peer.incarnation();
    }
  }

  private void take(Parameters parameters, long nowUs) {
    if (peer != null) {
      return;
    }
    peer = parameters;
    if (parameters.delivery() != Parameters.code(kcp.config().delivery())) {
      kcp.counters().add(KcpCounter.DELIVERY_MISMATCHED, 1);
      isMismatchUnreported = true;
    }
    kcp.checkPeerTimestamps(nowUs);
    if (parameters.maxAckDelayMs() > 0) {
      kcp.peerMaxAckDelay(parameters.maxAckDelayMs());
    }
    if (parameters.messageFragments() > 0) {
      kcp.peerMessageFragments(parameters.messageFragments());
    }
  }

  /** How the peer delivers, and how this side does; empty if that is the same. */
  String mismatch() {
    Delivery own = kcp.config().delivery();
    return peer == null || peer.delivery() == Parameters.code(own)
        ? ""
        : "DELIVERY of the peer is "
            + Parameters.nameOfDelivery(peer.delivery())
            + ", here "
            + own
            + ": set the same on both sides";
  }

  /** Whether something has happened that the table has to know. */
  boolean hasNews() {
    return isMismatchUnreported || isSuccessorUnreported;
  }

  /** Whether a client has made an offer that has begun again; reported from now on. */
  boolean takeSuccessor() {
    boolean isUnreported = isSuccessorUnreported;
    isSuccessorUnreported = false;
    return isUnreported;
  }

  /** Whether the peer delivers otherwise, which counts as reported from now on. */
  boolean takeMismatch() {
    boolean isUnreported = isMismatchUnreported;
    isMismatchUnreported = false;
    return isUnreported;
  }

  // What this side says

  /** The sequence number in the header of an offer. */
  int offerSn() {
    return isInHeader ? own().incarnation() : 0;
  }

  /** The timestamp in the header of an offer. */
  int offerTs(int ts) {
    return isInHeader ? own().headerTs() : ts;
  }

  /** The size of the item in an offer. */
  int offerBytes() {
    return isInHeader ? 0 : ExtensionMessage.itemBytes(ExtensionMessage.PARAMETERS);
  }

  void writeOffer(ByteBuf out) {
    if (!isInHeader) {
      own().write(out);
    }
  }

  /** The size of the item in an answer. */
  int answerBytes() {
    return peer == null ? 0 : ExtensionMessage.itemBytes(ExtensionMessage.PARAMETERS);
  }

  void writeAnswer(ByteBuf out) {
    if (peer != null) {
      own().write(out);
    }
  }

  /** The size of the item in the confirmation of an answer: if no offer has had it. */
  int confirmationBytes() {
    return isInHeader ? answerBytes() : 0;
  }

  void writeConfirmation(ByteBuf out) {
    if (isInHeader) {
      writeAnswer(out);
    }
  }
}
