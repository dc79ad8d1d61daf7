package io.kcp4j.internal.extension;

import io.kcp4j.Delivery;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * What a side says about itself in the item PARAMETERS: protocol.md 13.8. An offer of lanes has no
 * room for the item; there the header of its WINS says the same.
 *
 * @param incarnation a random number of a client's session, never 0; 0 from a server
 * @param delivery how the session is delivered, as {@link #code} says; others may be added
 * @param flags what the side has, unknown ones are ignored; in bits 2 to 7 its longest delay of
 *     ACKs, and in bits 8 to 15 the most fragments of a message that it takes, or 0
 */
public record Parameters(int incarnation, int delivery, int flags) {

  /** The side takes unreliable messages of lanes with numbers of 32 bits: protocol.md 15.5. */
  static final int LANE_NUMBERS_32 = 1;

  /** A server repeats random bytes of queries, and a client sends them: protocol.md 13.5. */
  static final int RESET_ECHO = 2;

  /** The side understands a close that has failed: protocol.md 13.4. */
  public static final int CLOSE_FAILED = 1 << 16;

  private static final int OWN_FLAGS = LANE_NUMBERS_32 | RESET_ECHO | CLOSE_FAILED;

  /** Above these, the flags are in the high bits of the byte of the delivery. */
  private static final int LOW_FLAGS_BITS = Short.SIZE;

  private static final int LOW_FLAGS = 0xffff;

  private static final int DELIVERY_BITS = 4;
  private static final int DELIVERY = 0xf;

  /** Six bits of the flags are the most milliseconds by which the side delays ACKs. */
  private static final int ACK_DELAY_SHIFT = 2;

  /** No longer delay has room in the flags. */
  private static final int MAX_ACK_DELAY_MS = 0x3f;

  private static final int DELIVERY_OFFSET = ExtensionMessage.ITEM_HEADER_BYTES + Integer.BYTES;
  private static final int FLAGS_OFFSET = DELIVERY_OFFSET + 1;

  /** The most fragments of a message are in this byte of the flags. */
  private static final int FRAGMENTS_SHIFT = Byte.SIZE;

  private static final int MAX_FRAGMENTS = 0xff;

  /**
   * Those of this side.
   *
   * @param kcp says its delivery, and how many fragments of a message it takes
   */
  public static Parameters own(int incarnation, Kcp kcp) {
    Delivery delivery = kcp.config().delivery();
    int fragments = delivery == Delivery.MESSAGE ? kcp.messageFragments() : 0;
    int ackDelayMs = kcp.maxAckDelayMs() > MAX_ACK_DELAY_MS ? 0 : kcp.maxAckDelayMs();
    int flags = OWN_FLAGS | ackDelayMs << ACK_DELAY_SHIFT | fragments << FRAGMENTS_SHIFT;
    return new Parameters(incarnation, code(delivery), flags);
  }

  /** The incarnation of a client's session: a hash of its first token, which is random, too. */
  public static int incarnation(long token) {
    int hash = Long.hashCode(token);
    return hash == 0 ? 1 : hash;
  }

  /**
   * The incarnation that an offer in the first datagram of a client says; 0 if there is none. None
   * of this has been validated before.
   */
  public static int offeredIncarnation(ByteBuf segments) {
    if (ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER)
        == ExtensionMessage.NONE) {
      return 0;
    }
    int segment = ExtensionMessage.findSegment(segments);
    int message = segment + Segment.HEADER_BYTES;
    return offeredIncarnation(segments, message, message + Segment.length(segments, segment));
  }

  /** The same in the valid message from {@code message} to {@code end}, which has an offer. */
  public static int offeredIncarnation(ByteBuf datagram, int message, int end) {
    int item = ExtensionMessage.find(datagram, message, end, ExtensionMessage.PARAMETERS);
    return item == ExtensionMessage.NONE
        ? Segment.sn(datagram, message - Segment.HEADER_BYTES)
        : read(datagram, item).incarnation();
  }

  /** Reads an item PARAMETERS at {@code index}. */
  public static Parameters read(ByteBuf buf, int index) {
    return of(
        ExtensionMessage.intValue(buf, index),
        buf.getUnsignedByte(index + DELIVERY_OFFSET),
        buf.getUnsignedShortLE(index + FLAGS_OFFSET));
  }

  /** Reads those in the header of a WINS at {@code index}, whose sequence number is not 0. */
  static Parameters readHeader(ByteBuf buf, int index) {
    int ts = Segment.ts(buf, index);
    return of(Segment.sn(buf, index), ts & 0xff, ts >>> Byte.SIZE & LOW_FLAGS);
  }

  private static Parameters of(int incarnation, int deliveryByte, int lowFlags) {
    int flags = deliveryByte >>> DELIVERY_BITS << LOW_FLAGS_BITS | lowFlags;
    return new Parameters(incarnation, deliveryByte & DELIVERY, flags);
  }

  private int deliveryByte() {
    return flags >>> LOW_FLAGS_BITS << DELIVERY_BITS | delivery;
  }

  /** Writes the item. */
  public void write(ByteBuf out) {
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.PARAMETERS);
    out.writeIntLE(incarnation).writeByte(deliveryByte()).writeShortLE(flags);
  }

  /** The timestamp of a WINS whose sequence number is the incarnation. */
  int headerTs() {
    return deliveryByte() | (flags & LOW_FLAGS) << Byte.SIZE;
  }

  /** Whether a flag is set. */
  boolean has(int flag) {
    return (flags & flag) != 0;
  }

  /**
   * The most milliseconds by which the side delays ACKs, of which it delays none at a gap; 0 if it
   * does not say so.
   */
  int maxAckDelayMs() {
    return flags >>> ACK_DELAY_SHIFT & MAX_ACK_DELAY_MS;
  }

  /** The most fragments of a message that the side takes; 0 if it does not say so. */
  int messageFragments() {
    return flags >>> FRAGMENTS_SHIFT & MAX_FRAGMENTS;
  }

  /** The name of the delivery with a code; others may be added. */
  static String nameOfDelivery(int code) {
    for (Delivery delivery : Delivery.values()) {
      if (code(delivery) == code) {
        return delivery.name();
      }
    }
    return "unknown (" + code + ")";
  }

  /** The code of a delivery. */
  public static int code(Delivery delivery) {
    return switch (delivery) {
      case STREAM -> 0;
      case MESSAGE -> 1;
      case LANES -> 2;
    };
  }

  /**
   * The {@link Parameters} of both sides of a session, and where in messages they are: a client
   * says its own in an offer, and a server answers with its own only a client that does:
   * protocol.md 13.8.
   */
  public static final class Exchange {

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
    Exchange(Kcp kcp, int incarnation, boolean isInHeader) {
      this.kcp = kcp;
      this.incarnation = incarnation;
      this.isInHeader = isInHeader;
    }

    public Parameters own() {
      return Parameters.own(incarnation, kcp);
    }

    // What the peer says

    /** What the peer has said about itself, or null. */
    public Parameters peer() {
      return peer;
    }

    /** Whether the peer is known to have what a flag of {@link Parameters} says. */
    public boolean hasPeer(int flag) {
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
    public String mismatch() {
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
    public boolean takeSuccessor() {
      boolean isUnreported = isSuccessorUnreported;
      isSuccessorUnreported = false;
      return isUnreported;
    }

    /** Whether the peer delivers otherwise, which counts as reported from now on. */
    public boolean takeMismatch() {
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
}
