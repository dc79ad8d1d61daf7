package io.kcp4j.fuzz;

import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/**
 * Takes what one session sends, checks that it is well formed, and remembers what a peer would know
 * from it: input that is nearly valid gets deeper into a session than noise.
 */
final class FuzzOutput implements DatagramOutput {

  private static final int CAPACITY = 4096;
  private static final int HEADROOM = 3;
  private static final ByteBuf BUFFER = Unpooled.buffer(CAPACITY, CAPACITY);

  private final int conv;
  private int maxBytes;

  /** What the session expects to receive next. */
  int rcvNxt;

  /** What it will send next. */
  int sndNxt;

  /** The last timestamp that it has sent. */
  int ts;

  FuzzOutput(int conv, int firstSn) {
    this.conv = conv;
    rcvNxt = firstSn;
    sndNxt = firstSn;
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    this.maxBytes = maxBytes;
    return BUFFER.setIndex(HEADROOM, HEADROOM);
  }

  @Override
  public void end() {
    int end = BUFFER.writerIndex();
    Check.that(end - HEADROOM <= maxBytes, "wrote more than it had asked for");
    int at = HEADROOM;
    while (at < end) {
      Check.that(end - at >= Segment.HEADER_BYTES, "sent a header cut short");
      Check.that(Segment.conv(BUFFER, at) == conv, "sent a wrong conv");
      int length = Segment.length(BUFFER, at);
      Check.that(length >= 0 && length <= end - at - Segment.HEADER_BYTES, "sent a wrong length");
      note(at);
      at += Segment.HEADER_BYTES + length;
    }
    Check.that(at > HEADROOM, "sent an empty datagram");
  }

  private void note(int at) {
    int una = Segment.una(BUFFER, at);
    Check.that(una - rcvNxt >= 0, "una went back");
    rcvNxt = una;
    int cmd = Segment.cmd(BUFFER, at);
    Check.that(Segment.isCommand(cmd), "sent an unknown command");
    if (cmd == Segment.PUSH) {
      int sn = Segment.sn(BUFFER, at);
      Check.that(sn - sndNxt <= 0, "sent beyond what is next");
      sndNxt = sn == sndNxt ? sn + 1 : sndNxt;
      ts = Segment.ts(BUFFER, at);
    }
  }
}
