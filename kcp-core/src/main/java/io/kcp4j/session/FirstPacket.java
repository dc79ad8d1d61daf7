package io.kcp4j.session;

import io.kcp4j.fec.FecPacket;
import io.netty.buffer.ByteBuf;

/**
 * The packet that begins a session, as far as the server keeps it.
 *
 * @param ts the timestamp of the first segment
 * @param isFecUpper whether the sequence numbers of the peer's FEC begin, or will begin, far above
 *     0
 * @param nonce the hash of its nonce, 0 if no AEAD has opened it
 * @param incarnation that of the client, 0 if the packet does not tell any
 */
record FirstPacket(int ts, boolean isFecUpper, long nonce, int incarnation) {

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
    int ts = FirstDatagram.timestamp(segments);
    return new FirstPacket(ts, isFecUpper, nonce, Parameters.offeredIncarnation(segments));
  }

  /** Whether an AEAD has opened it. */
  boolean isAuthenticated() {
    return nonce != 0;
  }
}
