package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.examples.PerfProtocol.End;
import io.kcp4j.examples.PerfProtocol.Report;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PerfReceiverTest {

  private static final End END = new End(12, 34);

  @Test
  void framesMayBeSplitAtEveryByte() throws CommandFailure {
    ByteBuf whole = Unpooled.buffer();
    whole.writeInt(5).writeZero(5).writeInt(1).writeByte(7);
    ByteBuf end = END.encode(whole.alloc());
    whole.writeBytes(end);
    end.release();
    for (int cut = 0; cut <= whole.readableBytes(); cut++) {
      PerfReceiver receiver = new PerfReceiver(report -> {});
      EmbeddedChannel channel = new EmbeddedChannel(receiver);
      channel.writeInbound(whole.copy(0, cut));
      assertEquals(cut == whole.readableBytes(), receiver.done().isDone());
      channel.writeInbound(whole.copy(cut, whole.readableBytes() - cut));
      assertTrue(receiver.done().isSuccess());
      assertEquals(14, receiver.result().report().bytes());
      assertEquals(END, receiver.result().end());
      assertEquals(receiver.result().report(), reportOf(channel));
      assertFalse(channel.finishAndReleaseAll());
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, PerfProtocol.MAX_FRAME_BYTES + 1})
  void invalidFrameLengthClosesTheSession(int length) {
    PerfReceiver receiver = new PerfReceiver(report -> {});
    EmbeddedChannel channel = new EmbeddedChannel(receiver);
    channel.writeInbound(Unpooled.buffer().writeInt(length).writeZero(100));
    assertTrue(receiver.done().cause() instanceof CommandFailure);
    assertFalse(channel.isOpen());
    channel.finishAndReleaseAll();
  }

  @Test
  void largestFrameIsAccepted() {
    PerfReceiver receiver = new PerfReceiver(report -> {});
    EmbeddedChannel channel = new EmbeddedChannel(receiver);
    channel.writeInbound(Unpooled.buffer().writeInt(PerfProtocol.MAX_FRAME_BYTES).writeZero(100));
    assertFalse(receiver.done().isDone());
    channel.finishAndReleaseAll();
  }

  private static Report reportOf(EmbeddedChannel channel) throws CommandFailure {
    ByteBuf out = channel.readOutbound();
    try {
      return Report.decode(out);
    } finally {
      out.release();
    }
  }
}
