package io.kcp4j.session;

import io.kcp4j.Delivery;
import io.kcp4j.Kcp;
import io.kcp4j.Segment;
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
record Parameters(int incarnation, int delivery, int flags) {

  /** The side takes unreliable messages of lanes with numbers of 32 bits: protocol.md 15.5. */
  static final int LANE_NUMBERS_32 = 1;

  /** A server repeats random bytes of queries, and a client sends them: protocol.md 13.5. */
  static final int RESET_ECHO = 2;

  /** The side understands a close that has failed: protocol.md 13.4. */
  static final int CLOSE_FAILED = 1 << 16;

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
  static Parameters own(int incarnation, Kcp kcp) {
    Delivery delivery = kcp.config().delivery();
    int fragments = delivery == Delivery.MESSAGE ? kcp.messageFragments() : 0;
    int ackDelayMs = kcp.maxAckDelayMs() > MAX_ACK_DELAY_MS ? 0 : kcp.maxAckDelayMs();
    int flags = OWN_FLAGS | ackDelayMs << ACK_DELAY_SHIFT | fragments << FRAGMENTS_SHIFT;
    return new Parameters(incarnation, code(delivery), flags);
  }

  /** The incarnation of a client's session: a hash of its first token, which is random, too. */
  static int incarnation(long token) {
    int hash = Long.hashCode(token);
    return hash == 0 ? 1 : hash;
  }

  /**
   * The incarnation that an offer in the first datagram of a client says; 0 if there is none. None
   * of this has been validated before.
   */
  static int offeredIncarnation(ByteBuf segments) {
    if (ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER)
        == ExtensionMessage.NONE) {
      return 0;
    }
    int segment = ExtensionMessage.findSegment(segments);
    int message = segment + Segment.HEADER_BYTES;
    return offeredIncarnation(segments, message, message + Segment.length(segments, segment));
  }

  /** The same in the valid message from {@code message} to {@code end}, which has an offer. */
  static int offeredIncarnation(ByteBuf datagram, int message, int end) {
    int item = ExtensionMessage.find(datagram, message, end, ExtensionMessage.PARAMETERS);
    return item == ExtensionMessage.NONE
        ? Segment.sn(datagram, message - Segment.HEADER_BYTES)
        : read(datagram, item).incarnation();
  }

  /** Reads an item PARAMETERS at {@code index}. */
  static Parameters read(ByteBuf buf, int index) {
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
  void write(ByteBuf out) {
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
  static int code(Delivery delivery) {
    return switch (delivery) {
      case STREAM -> 0;
      case MESSAGE -> 1;
      case LANES -> 2;
    };
  }
}
