package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import ch.qos.logback.classic.Level;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.smux.SmuxConfig;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Frames of smux that peers with forged addresses send at will fill no log. */
@ResourceLock(RecordedLog.LOCK)
class ForgedStreamTest {

  /** Fewer begin in a second than make a server ask for repeated datagrams. */
  private static final int SESSIONS = 100;

  @Test
  void invalidFrameOfAPeerThatHasNotAnsweredFiresNoException() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        RecordedLog log = new RecordedLog()) {
      AtomicInteger exceptions = new AtomicInteger();
      KcpServerChannel server = fixture.serve(() -> new Child(exceptions));

      try (RawPeer peer = new RawPeer(server.localAddress())) {
        for (int conv = 1; conv <= SESSIONS; conv++) {
          peer.send(invalidFrame(conv));
        }
        await().until(() -> server.counters().get(KcpCounter.SESSIONS_CLOSED) == SESSIONS);
      }
      for (int i = 0; i < SESSIONS; i++) {
        fixture.child().closeFuture().sync();
      }
      fixture.serverGroup.submit(() -> {}).sync(); // The log has what was fired before.

      assertEquals(0, exceptions.get());
      assertEquals(List.of(), log.messages(Level.WARN));
    }
  }

  /** A frame of an unknown version, with a length that is too large. */
  private static byte[] invalidFrame(int conv) {
    return RawPeer.segment(conv, Segment.PUSH, 0, new byte[] {99, 99, 99, 99, 99, 99, 99, 99});
  }

  private static final class Child extends ChannelInitializer<KcpChannel> {
    private final AtomicInteger exceptions;

    Child(AtomicInteger exceptions) {
      this.exceptions = exceptions;
    }

    @Override
    protected void initChannel(KcpChannel child) {
      child
          .pipeline()
          .addLast(
              new SmuxHandler(SmuxConfig.DEFAULT, false, null),
              new ChannelInboundHandlerAdapter() {
                @Override
                public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
                  exceptions.incrementAndGet();
                  ctx.fireExceptionCaught(cause);
                }
              });
    }
  }
}
