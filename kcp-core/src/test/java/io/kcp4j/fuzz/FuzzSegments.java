package io.kcp4j.fuzz;

import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/** Makes segments, some of which are near those that a session expects. */
final class FuzzSegments {

  private FuzzSegments() {}

  /** Appends a few segments, the last of which may be truncated or have a false length. */
  static void write(ByteBuf out, FuzzInput input, int conv, FuzzOutput known) {
    int kinds = input.unsignedByte();
    for (int i = kinds & 3; i >= 0; i--) {
      writeOne(out, input, conv, known);
    }
    if ((kinds & 0x1c) == 0x1c) {
      out.writerIndex(out.writerIndex() - 1 - input.below(Segment.HEADER_BYTES - 1));
    }
  }

  private static void writeOne(ByteBuf out, FuzzInput input, int conv, FuzzOutput known) {
    int kind = input.unsignedByte();
    int una = known.sndNxt + (kind % 3 == 0 ? input.signedByte() : 0);
    int wnd = kind % 5 == 0 ? input.below(3) : 128;
    switch (kind & 7) {
      case 0, 1, 2, 3 -> {
        int sn = known.rcvNxt + (kind >= 128 ? input.signedByte() >> 1 : kind >> 5);
        int bytes = kind % 7 == 0 ? 0 : input.below(80);
        int frg = input.oneIn(4) ? input.unsignedByte() : 0;
        int length = kind == 250 ? input.integer() : bytes;
        Segment.write(out, conv, Segment.PUSH, frg, wnd, input.unsignedByte(), sn, una, length);
        out.writeZero(bytes);
      }
      case 4, 5 -> {
        int sn = known.sndNxt - 1 - (kind >> 5) + (kind == 253 ? input.signedByte() : 0);
        int ts = kind % 11 == 0 ? input.integer() : known.ts;
        Segment.write(out, conv, Segment.ACK, 0, wnd, ts, sn, una - (kind >> 5), 0);
      }
      case 6 -> {
        int cmd = kind >= 128 ? Segment.WASK : Segment.WINS;
        Segment.write(out, conv, cmd, 0, wnd, 0, 0, una, 0);
      }
      default -> {
        int cmd = input.unsignedByte();
        int other = kind >= 240 ? input.integer() : conv;
        Segment.write(out, other, cmd, 0, wnd, 0, input.integer(), input.integer(), 0);
      }
    }
  }
}
