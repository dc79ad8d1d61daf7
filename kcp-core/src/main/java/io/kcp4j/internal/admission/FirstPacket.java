package io.kcp4j.internal.admission;

import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.extension.Parameters;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * The packet that begins a session, as far as the server keeps it; and what first packets of
 * unknown peers are for.
 *
 * @param ts the timestamp of the first segment
 * @param isFecUpper whether the sequence numbers of the peer's FEC begin, or will begin, far above
 *     0
 * @param nonce the hash of its nonce, 0 if no AEAD has opened it
 * @param incarnation that of the client, 0 if the packet does not tell any
 */
public record FirstPacket(int ts, boolean isFecUpper, long nonce, int incarnation) {

  /** What the first datagram of an unknown peer is for. */
  public enum Kind {
    /** Well formed, with a PUSH of sequence number 0: begins a session. */
    BEGINS,
    /** Well formed, with a window probe and nothing that begins a session. */
    PROBES,
    /** Its first header cannot be one. */
    NOT_KCP,
    /** Anything else. */
    OTHER
  }

  /**
   * The offer of the extension in the first datagram of a client.
   *
   * @param token what messages to the client have to show
   * @param datagramBytes the size of the datagram, without the headers of cipher and FEC: no answer
   *     may be larger
   */
  record Offer(long token, int datagramBytes) {

    /** Reads the offer in segments of which nothing has been validated; null if there is none. */
    static Offer read(ByteBuf segments) {
      int offer = ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER);
      return offer == ExtensionMessage.NONE
          ? null
          : new Offer(ExtensionMessage.longValue(segments, offer), segments.readableBytes());
    }
  }

  /**
   * Reads a packet.
   *
   * @param segments its segments
   * @param start where it begins, before the header of FEC if it has one
   * @param nonce the hash of its nonce, 0 if no AEAD has opened it
   */
  static FirstPacket read(ByteBuf segments, int start, long nonce) {
    boolean hasFec = segments.readerIndex() - start >= FecPacket.DATA_HEADER_BYTES;
    boolean isFecUpper =
        !hasFec || Math.abs(FecPacket.seqid(segments, start)) >= FecPacket.UPPER_SEQID / 2;
    int incarnation = Parameters.offeredIncarnation(segments);
    return new FirstPacket(timestamp(segments), isFecUpper, nonce, incarnation);
  }

  /** The timestamp of the first PUSH of such a datagram, or else of the first segment. */
  private static int timestamp(ByteBuf datagram) {
    int index = datagram.readerIndex();
    while (datagram.writerIndex() - index >= Segment.HEADER_BYTES
        && Segment.cmd(datagram, index) != Segment.PUSH) {
      index += Segment.HEADER_BYTES + Segment.length(datagram, index);
    }
    boolean hasPush = datagram.writerIndex() - index >= Segment.HEADER_BYTES;
    return Segment.ts(datagram, hasPush ? index : datagram.readerIndex());
  }

  /** Whether an AEAD has opened it. */
  boolean isAuthenticated() {
    return nonce != 0;
  }

  /**
   * Classifies a datagram. One without a whole header is {@link Kind#OTHER}. So is one that
   * acknowledges something: a new session has sent nothing and would refuse it.
   */
  public static Kind classify(ByteBuf datagram) {
    int index = datagram.readerIndex();
    int end = datagram.writerIndex();
    Kind result = Kind.OTHER;
    int conv = end - index < Segment.HEADER_BYTES ? 0 : Segment.conv(datagram, index);
    while (end - index >= Segment.HEADER_BYTES) {
      int cmd = Segment.cmd(datagram, index);
      int length = Segment.length(datagram, index);
      if (!Segment.isCommand(cmd) || length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return index == datagram.readerIndex() ? Kind.NOT_KCP : Kind.OTHER;
      }
      if (Segment.conv(datagram, index) != conv
          || cmd == Segment.ACK
          || Segment.una(datagram, index) != 0) {
        return Kind.OTHER;
      }
      if (cmd == Segment.PUSH && Segment.sn(datagram, index) == 0) {
        result = Kind.BEGINS;
      } else if (cmd == Segment.WASK && result == Kind.OTHER) {
        result = Kind.PROBES;
      }
      index += Segment.HEADER_BYTES + length;
    }
    return result;
  }
}
