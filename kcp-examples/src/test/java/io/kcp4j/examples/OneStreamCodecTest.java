package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class OneStreamCodecTest {

  private static EmbeddedChannel channel() {
    return new EmbeddedChannel(OneStreamCodec.handlers().toArray(ChannelHandler[]::new));
  }

  @Test
  void messagesOfAllLanesPassTheStreamHoweverItIsCut() {
    EmbeddedChannel sender = channel();
    EmbeddedChannel receiver = channel();
    sender.writeOutbound(message(3, "hi"), message(0, ""), message(4, "hey"));
    for (ByteBuf part; (part = sender.readOutbound()) != null; part.release()) {
      while (part.isReadable()) {
        receiver.writeInbound(part.readRetainedSlice(1));
      }
    }
    assertNext(receiver, 3, "hi");
    assertNext(receiver, 0, "");
    assertNext(receiver, 4, "hey");
    assertFalse(sender.finishAndReleaseAll());
    assertFalse(receiver.finishAndReleaseAll());
  }

  private static LaneMessage message(int lane, String text) {
    return new LaneMessage(lane, Unpooled.copiedBuffer(text, StandardCharsets.US_ASCII));
  }

  private static void assertNext(EmbeddedChannel receiver, int lane, String text) {
    LaneMessage message = receiver.readInbound();
    assertEquals(lane, message.lane());
    assertEquals(text, message.content().toString(StandardCharsets.US_ASCII));
    message.release();
  }
}
