package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * The protocol of {@code perf-client} and {@code perf-server} inside a session. Integers are
 * big-endian.
 *
 * <pre>
 *   client to server, once     magic 4 "KCPP" | version 1 = 1 | direction 1 (0 forward, 1 reverse)
 *                              | duration in ms 4
 *   sender to receiver         frames: length 4, at most 2^20 | length bytes
 *                              the last one: length 4 = 0 | retransmitted segments 8 | srtt in ms 4
 *   receiver to sender         each second and at the end: final 1 (0, 1) | bytes 8 | nanoseconds 8
 * </pre>
 *
 * <p>The sender is the client, or with direction 1 the server. It sends frames until the duration
 * is over. The receiver counts every byte of every frame but the last, from the arrival of the
 * first to the arrival of the last; its reports hold sums since the start. The side that gets the
 * final report closes the session.
 */
final class PerfProtocol {

  static final int HELLO_BYTES = 10;
  static final int END_BYTES = 16;
  static final int REPORT_BYTES = 17;

  /** A longer frame comes from another program. */
  static final int MAX_FRAME_BYTES = 1 << 20;

  private static final int MAGIC = 0x4b435050;
  private static final int VERSION = 1;

  private PerfProtocol() {}

  /** The request of a client. */
  record Hello(boolean reverse, int durationMs) {

    ByteBuf encode(ByteBufAllocator alloc) {
      return alloc
          .directBuffer(HELLO_BYTES)
          .writeInt(MAGIC)
          .writeByte(VERSION)
          .writeBoolean(reverse)
          .writeInt(durationMs);
    }

    static Hello decode(ByteBuf in) throws CommandFailure {
      if (in.readInt() != MAGIC || in.readByte() != VERSION) {
        throw new CommandFailure("the peer is not a perf-client of version " + VERSION);
      }
      return new Hello(in.readBoolean(), in.readInt());
    }
  }

  /** The sender's last frame. */
  record End(long retransmitted, int srttUs) {

    ByteBuf encode(ByteBufAllocator alloc) {
      return alloc.directBuffer(END_BYTES).writeInt(0).writeLong(retransmitted).writeInt(srttUs);
    }

    /** Decodes what follows the length. */
    static End decode(ByteBuf in) {
      return new End(in.readLong(), in.readInt());
    }
  }

  /** What the receiver has counted since the start. */
  record Report(boolean isFinal, long bytes, long nanos) {

    ByteBuf encode(ByteBufAllocator alloc) {
      return alloc
          .directBuffer(REPORT_BYTES)
          .writeBoolean(isFinal)
          .writeLong(bytes)
          .writeLong(nanos);
    }

    static Report decode(ByteBuf in) throws CommandFailure {
      byte isFinal = in.readByte();
      if (isFinal != 0 && isFinal != 1) {
        throw new CommandFailure("the peer is not a perf-server");
      }
      return new Report(isFinal == 1, in.readLong(), in.readLong());
    }

    double seconds() {
      return nanos / 1e9;
    }

    /** In 10^6 bytes per second. */
    double megabytesPerSecond() {
      return nanos == 0 ? 0 : bytes * 1e3 / nanos;
    }
  }
}
