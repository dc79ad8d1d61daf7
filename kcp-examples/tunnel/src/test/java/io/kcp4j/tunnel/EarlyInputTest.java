package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.ChannelInputShutdownReadComplete;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EarlyInputTest {

  private final EarlyInput early = new EarlyInput();
  private final EmbeddedChannel channel = new EmbeddedChannel(early);
  private final List<Object> received = new ArrayList<>();

  private void addReceiver() {
    channel
        .pipeline()
        .addLast(
            new ChannelInboundHandlerAdapter() {
              @Override
              public void channelRead(ChannelHandlerContext ctx, Object msg) {
                received.add(msg);
              }

              @Override
              public void channelReadComplete(ChannelHandlerContext ctx) {
                received.add("complete");
              }

              @Override
              public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
                received.add(event);
              }
            });
  }

  @Test
  void inputIsKeptUntilTheHandlerIsRemoved() {
    channel.writeInbound("first", "second");
    channel.pipeline().fireUserEventTriggered(ChannelInputShutdownEvent.INSTANCE);
    assertNull(channel.readInbound());
    addReceiver();
    channel.pipeline().remove(early);
    assertEquals(
        List.of("first", "complete", "second", "complete", ChannelInputShutdownEvent.INSTANCE),
        received);
  }

  @Test
  void otherEventsAreForwardedAtOnce() {
    addReceiver();
    channel.pipeline().fireUserEventTriggered(ChannelInputShutdownReadComplete.INSTANCE);
    assertEquals(List.of(ChannelInputShutdownReadComplete.INSTANCE), received);
  }
}
