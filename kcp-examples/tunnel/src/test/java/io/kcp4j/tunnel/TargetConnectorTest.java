package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import io.kcp4j.command.TransportChoice;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** Connections to a target that fail at once: the event loop of an embedded channel has no TCP. */
class TargetConnectorTest {

  private static final InetAddress PEER = InetAddress.getLoopbackAddress();

  private final StringWriter log = new StringWriter();
  private final AtomicLong nowNs = new AtomicLong();
  private final ConnectionLimits limits = new ConnectionLimits(1_000_000, 1_000_000, nowNs::get);
  private final TunnelStatistics statistics = new TunnelStatistics();
  private final List<SmuxStreamChannel> streams = new ArrayList<>();
  private boolean isDraining;
  private final EmbeddedChannel session = session();

  private EmbeddedChannel session() {
    try {
      TunnelSettings settings =
          CommandLine.populateCommand(new TunnelOptions()).settings(new TunnelDefaults(1, 1, 0));
      TunnelLog lines = new TunnelLog(new PrintWriter(log), false, () -> 0);
      TunnelContext context =
          new TunnelContext(
              settings, TransportChoice.NIO, lines, statistics, new ForwardingLimit(1 << 20));
      RemoteHost target = new RemoteHost(PortRange.parse("--target", "127.0.0.1:9"));
      TargetConnector connector = new TargetConnector(context, target, limits, () -> isDraining);
      ChannelInitializer<SmuxStreamChannel> streamHandler =
          new ChannelInitializer<>() {
            @Override
            protected void initChannel(SmuxStreamChannel stream) {
              streams.add(stream);
              connector.connect(stream);
            }
          };
      return new EmbeddedChannel(
          connector, new SmuxHandler(SmuxConfig.DEFAULT, false, streamHandler)) {
        @Override
        protected SocketAddress remoteAddress0() {
          return new InetSocketAddress(PEER, 4_000);
        }
      };
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void close() {
    session.finishAndReleaseAll();
    assertEquals(0, limits.open());
    assertEquals(0, statistics.open());
  }

  /** The peer opens streams. */
  private void open(int firstId, int count) {
    ByteBuf frames = Unpooled.buffer();
    for (int i = 0; i < count; i++) {
      frames.writeByte(2).writeByte(0).writeShortLE(0).writeIntLE(firstId + 2 * i);
    }
    session.writeInbound(frames);
  }

  private void answer() {
    session.pipeline().fireUserEventTriggered(KcpChannelEvent.ESTABLISHED);
    session.runPendingTasks();
  }

  private int leftForUnanswered() {
    int left = 0;
    while (limits.tryAddUnanswered()) {
      left++;
    }
    limits.removeUnanswered(left);
    return left;
  }

  @Test
  void connectionThatFailsTakesNoPlaceAnyMore() {
    open(3, 3);
    assertTrue(statistics.line(0, new KcpCounters()).contains("3 failed"));
    assertEquals(0, limits.open());
    assertTrue(streams.stream().noneMatch(SmuxStreamChannel::isOpen));
    for (int i = 0; i < ConnectionLimits.MAX_CONNECTING; i++) {
      assertTrue(limits.tryOpen(PEER), "connecting: " + i);
    }
    assertFalse(limits.tryOpen(PEER));
    for (int i = 0; i < ConnectionLimits.MAX_CONNECTING; i++) {
      limits.closed(PEER);
    }
  }

  /** Packets from forged addresses must not fill the log. */
  @Test
  void failureIsLoggedOnceThePeerHasAnswered() {
    open(3, 2);
    assertEquals("", log.toString());
    answer();
    assertEquals(1, log.toString().lines().count(), log::toString);
    assertTrue(log.toString().contains("no target for"), log::toString);
  }

  @Test
  void sessionThatEndsUnansweredTakesItsConnectionsOff() {
    open(3, 2);
    assertEquals(ConnectionLimits.MAX_UNANSWERED - 2, leftForUnanswered());
    session.close();
    session.runPendingTasks();
    assertEquals(ConnectionLimits.MAX_UNANSWERED - 2, leftForUnanswered());
    nowNs.addAndGet(TimeUnit.MINUTES.toNanos(1)); // Their ports are free.
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered());
  }

  @Test
  void streamsBeyondThoseOfAnUnansweredPeerWaitForTheAnswer() {
    open(3, 6);
    assertEquals(2, streams.stream().filter(SmuxStreamChannel::isOpen).count());
    answer();
    assertTrue(streams.stream().noneMatch(SmuxStreamChannel::isOpen));
    assertTrue(statistics.line(0, new KcpCounters()).contains("6 failed"));
  }

  @Test
  void serverThatEndsConnectsNothing() {
    answer();
    isDraining = true;
    open(3, 2);
    assertTrue(streams.stream().noneMatch(SmuxStreamChannel::isOpen));
    assertTrue(statistics.line(0, new KcpCounters()).contains(" of 0, 0 failed"));
  }
}
