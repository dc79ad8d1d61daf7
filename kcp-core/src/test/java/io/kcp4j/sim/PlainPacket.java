package io.kcp4j.sim;

import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** A packet before it was sealed: a KCP datagram, with an FEC header or without. */
final class PlainPacket {

  private final byte[] bytes;
  private final ByteBuf buffer;
  private final int type;

  PlainPacket(byte[] bytes) {
    this.bytes = bytes;
    buffer = Unpooled.wrappedBuffer(bytes);
    type = FecPacket.type(buffer, 0);
  }

  byte[] bytes() {
    return bytes;
  }

  /** The conv of its session, which parity has where protected data have it. */
  int conv() {
    return buffer.getIntLE(datagramIndex());
  }

  /** Whether it begins a session: its first segment has sequence number 0. */
  boolean isFirst() {
    int index = datagramIndex();
    return hasSegments()
        && Segment.cmd(buffer, index) == Segment.PUSH
        && Segment.sn(buffer, index) == 0;
  }

  /** Whether it is one WINS of that session, without an FEC header. */
  boolean isWins(int conv) {
    return bytes.length == Segment.HEADER_BYTES
        && Segment.cmd(buffer, 0) == Segment.WINS
        && Segment.conv(buffer, 0) == conv;
  }

  /** Whether it has nothing but a window probe. */
  boolean isProbe() {
    int index = datagramIndex();
    return hasSegments()
        && bytes.length == index + Segment.HEADER_BYTES
        && Segment.cmd(buffer, index) == Segment.WASK;
  }

  /** The size of the window probes among its segments. */
  int probeBytes() {
    int probes = 0;
    int next;
    for (int index = datagramIndex(); hasSegments() && index < bytes.length; index = next) {
      next = index + Segment.HEADER_BYTES + Segment.length(buffer, index);
      probes += Segment.cmd(buffer, index) == Segment.WASK ? 1 : 0;
    }
    return probes * Segment.HEADER_BYTES;
  }

  private boolean hasSegments() {
    return type == FecPacket.DATA || !FecPacket.isFec(type);
  }

  private int datagramIndex() {
    return FecPacket.isFec(type) ? FecPacket.DATA_HEADER_BYTES : 0;
  }

  /** The headers. */
  @Override
  public String toString() {
    String header =
        switch (type) {
          case FecPacket.DATA -> "data " + seqid();
          case FecPacket.PARITY -> "parity " + seqid();
          case FecPacket.OUT_OF_BAND -> "unreliable";
          default -> "plain";
        };
    return header
        + " conv="
        + conv()
        + (hasSegments() ? WireMonitor.describe(buffer, datagramIndex()) : "")
        + " "
        + bytes.length
        + " bytes";
  }

  private String seqid() {
    return Integer.toUnsignedString(FecPacket.seqid(buffer, 0));
  }
}
