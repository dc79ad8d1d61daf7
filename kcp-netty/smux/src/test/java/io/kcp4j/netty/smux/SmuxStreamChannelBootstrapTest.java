package io.kcp4j.netty.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.smux.SmuxConfig;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the bootstrap of streams sets up. */
class SmuxStreamChannelBootstrapTest {

  private static final AttributeKey<String> KEY = AttributeKey.valueOf("smux bootstrap test");

  @Test
  void streamHasItsHandlerOptionsAndAttributes() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      StreamRecorder recorder = new StreamRecorder();
      SmuxStreamChannel stream =
          connection
              .bootstrap()
              .option(SmuxChannelOption.PRIORITY, 1)
              .option(ChannelOption.AUTO_READ, false)
              .option(ChannelOption.ALLOW_HALF_CLOSURE, true)
              .attr(KEY, "value")
              .handler(recorder)
              .open()
              .getNow();
      assertEquals(1, stream.config().priority());
      assertFalse(stream.config().isAutoRead());
      assertTrue(stream.config().isAllowHalfClosure());
      assertEquals("value", stream.attr(KEY).get());
      assertSame(recorder, stream.pipeline().first());
      assertEquals(List.of("active"), recorder.events);
    }
  }

  @Test
  void nullRemovesOptionsAndAttributes() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      SmuxStreamChannel stream =
          connection
              .bootstrap()
              .option(SmuxChannelOption.PRIORITY, 1)
              .option(SmuxChannelOption.PRIORITY, null)
              .attr(KEY, "value")
              .attr(KEY, null)
              .open()
              .getNow();
      assertEquals(3, stream.config().priority());
      assertNull(stream.attr(KEY).get());
    }
  }

  @Test
  void unknownAndInvalidOptionsAreOnlyLogged() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      SmuxStreamChannel stream =
          connection
              .bootstrap()
              .option(SmuxChannelOption.PRIORITY, 99)
              .option(ChannelOption.TCP_NODELAY, true)
              .open()
              .getNow();
      assertEquals(3, stream.config().priority());
      assertTrue(stream.isActive());
    }
  }

  @Test
  void handlerThatIsNotSharableServesOneStream() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      SmuxStreamChannelBootstrap bootstrap = connection.bootstrap().handler(new StreamRecorder());
      assertTrue(bootstrap.open().isSuccess());
      Future<SmuxStreamChannel> second = bootstrap.open();
      assertInstanceOf(Exception.class, second.cause());
      connection.channel.runPendingTasks();
      assertEquals(1, connection.handler().stats().openStreams());
      assertTrue(connection.channel.isOpen());
    }
  }

  @Test
  void cancelledPromiseOpensNothing() {
    try (EmbeddedConnection connection = EmbeddedConnection.client(SmuxConfig.DEFAULT)) {
      Promise<SmuxStreamChannel> promise = connection.channel.eventLoop().newPromise();
      assertTrue(promise.cancel(false));
      assertTrue(connection.bootstrap().open(promise).isCancelled());
      assertEquals(List.of(), connection.sent());
    }
  }
}
