package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Handlers of the examples that answer whatever a peer sends. */
class BackpressureTest {

  @Test
  void peerThatTakesNoAnswersIsNotRead() {
    List<ChannelHandler> handlers =
        List.of(
            new Quickstart.Echo(),
            new EchoHandler(),
            new RpcService.Service(),
            TcpAndKcp.lines((session, line) -> session.writeAndFlush(line)));
    for (ChannelHandler handler : handlers) {
      EmbeddedChannel session = new EmbeddedChannel(handler);
      ChannelOutboundBuffer answers = session.unsafe().outboundBuffer();
      answers.setUserDefinedWritability(1, false);
      session.runPendingTasks();
      assertFalse(session.config().isAutoRead(), handler.toString());
      answers.setUserDefinedWritability(1, true);
      session.runPendingTasks();
      assertTrue(session.config().isAutoRead(), handler.toString());
      assertFalse(session.finishAndReleaseAll());
    }
  }
}
