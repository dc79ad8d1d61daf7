package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.codec.TooLongFrameException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Sessions that peers with forged addresses begin and end at will fill no log. */
@ResourceLock(RecordedLog.LOCK)
class ForgedEndTest {

  private static final int DATAGRAMS = 1_000;

  /** Fewer begin in a second than make a server ask for repeated datagrams. */
  private static final int DATAGRAMS_OF_A_SERVER = 100;

  /** Two fragments of a message that do not count down. */
  private static byte[] violation(int conv) {
    return violation(conv, 0);
  }

  private static byte[] violation(int conv, int sn) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 1, 128, 1, sn, 0, 0);
    Segment.write(out, conv, Segment.PUSH, 5, 128, 1, sn + 1, 0, 0);
    return ByteBufUtil.getBytes(out);
  }

  /** A frame whose length is too large for the decoder. */
  private static byte[] unknownFrame(int conv) {
    return RawPeer.segment(conv, Segment.PUSH, 0, new byte[] {99, 99, 99, 99, 99, 99, 99, 99});
  }

  private interface Datagram {
    byte[] of(int conv);
  }

  /** Serves a thousand forged datagrams, each of which ends its session; returns the children. */
  private static List<KcpChannel> flood(
      Fixture fixture, Supplier<ChannelHandler> childHandler, Datagram datagram) throws Exception {
    List<KcpServerChannel> servers = new ArrayList<>();
    for (int i = 0; i < DATAGRAMS / DATAGRAMS_OF_A_SERVER; i++) {
      KcpServerChannel server = fixture.serve(childHandler);
      servers.add(server);
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        for (int conv = 1; conv <= DATAGRAMS_OF_A_SERVER; conv++) {
          peer.send(datagram.of(conv));
        }
      }
    }
    await().until(() -> closed(servers) == DATAGRAMS);
    List<KcpChannel> children = new ArrayList<>();
    for (int i = 0; i < DATAGRAMS; i++) {
      children.add(fixture.child());
    }
    for (KcpChannel child : children) {
      child.closeFuture().sync();
    }
    fixture.serverGroup.submit(() -> {}).sync(); // The log has what was fired before.
    return children;
  }

  private static long closed(List<KcpServerChannel> servers) {
    return servers.stream()
        .mapToLong(server -> server.counters().get(KcpCounter.SESSIONS_CLOSED))
        .sum();
  }

  @Test
  void protocolViolationOfAPeerThatHasNotAnsweredFiresNoException() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        RecordedLog log = new RecordedLog()) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);

      AtomicInteger exceptions = new AtomicInteger();

      List<KcpChannel> children =
          flood(fixture, () -> new ExceptionCounter(exceptions), ForgedEndTest::violation);

      for (KcpChannel child : children) {
        assertEquals(EndReason.PROTOCOL_VIOLATION, child.endReason());
      }
      assertEquals(0, exceptions.get());
      assertEquals(List.of(), log.messages(Level.WARN));
    }
  }

  @Test
  void exceptionOfADecoderThatNobodyTakesIsNotLoggedIfThePeerHasNotAnswered() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        RecordedLog log = new RecordedLog()) {
      flood(fixture, ClosingDecoder::new, ForgedEndTest::unknownFrame);

      assertEquals(List.of(), log.messages(Level.WARN));
    }
  }

  @OverEachTransport
  void violationOfAPeerThatHasAnsweredIsFiredWithoutAStackTrace(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      Recorder recorder = new Recorder();
      KcpServerChannel server = fixture.serve(() -> recorder);
      try (RawPeer peer = new RawPeer(server.localAddress())) {
        peer.send(RawPeer.segment(7, Segment.PUSH, 0, new byte[1]));
        KcpChannel child = fixture.child();
        child.writeAndFlush(Fixture.buffer(child, new byte[1]));
        peer.send(peer.acknowledgement());
        peer.send(violation(7, 1));
        child.closeFuture().sync();

        KcpSessionClosedException cause =
            assertInstanceOf(KcpSessionClosedException.class, recorder.exceptions.get(0));
        assertEquals(EndReason.PROTOCOL_VIOLATION, cause.reason());
        assertEquals(0, cause.getStackTrace().length);
      }
    }
  }

  @OverEachTransport
  void exceptionsThatAPeerCausesAreLoggedOnceInTenSeconds(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        RecordedLog log = new RecordedLog()) {
      AtomicInteger thrown = new AtomicInteger();
      KcpServerChannel server = fixture.serve(() -> new Thrower(thrown));
      for (int i = 1; i <= 3; i++) {
        Recorder recorder = new Recorder();
        KcpChannel client = fixture.connect(recorder);
        client.writeAndFlush(Fixture.buffer(client, new byte[1]));
        await().until(() -> recorder.received() == 1);
        int times = i;
        client.writeAndFlush(Fixture.buffer(client, new byte[1]));
        await().until(() -> thrown.get() == times);
      }
      server.sockets().first().eventLoop().submit(() -> {}).sync();

      List<ILoggingEvent> warnings =
          log.of(Level.WARN).stream()
              .filter(warning -> warning.getFormattedMessage().contains("R:"))
              .toList();
      assertEquals(1, warnings.size(), warnings::toString);
    }
  }

  /** Echoes the first read, whose acknowledgement validates the path, and fails at the second. */
  private static final class Thrower extends ChannelInboundHandlerAdapter {
    private final AtomicInteger thrown;
    private boolean hasEchoed;

    Thrower(AtomicInteger thrown) {
      this.thrown = thrown;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      if (!hasEchoed) {
        hasEchoed = true;
        ctx.writeAndFlush(msg);
        return;
      }
      ((ByteBuf) msg).release();
      thrown.incrementAndGet();
      throw new IllegalStateException("second read");
    }
  }

  /** Closes its channel when a frame is too long. */
  private static final class ClosingDecoder extends LengthFieldBasedFrameDecoder {
    ClosingDecoder() {
      super(100, 0, 4);
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      try {
        super.channelRead(ctx, msg);
      } catch (TooLongFrameException e) {
        ctx.fireExceptionCaught(e);
        ctx.close();
      } catch (Exception e) {
        throw new AssertionError(e);
      }
    }
  }

  private static final class ExceptionCounter extends ChannelInboundHandlerAdapter {
    private final AtomicInteger exceptions;

    ExceptionCounter(AtomicInteger exceptions) {
      this.exceptions = exceptions;
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      exceptions.incrementAndGet();
      ctx.fireExceptionCaught(cause);
    }
  }
}
