package io.kcp4j.netty.interop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.util.NetUtil;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** An unmodified kcp-go does not notice the extension, and is left alone soon: protocol.md 13.3. */
class ExtensionInteropTest {

  private static final int MESSAGES = 10;
  private static final int MAX_ACKNOWLEDGED = 3;

  /** A datagram on its way to the server, or back. */
  private record Captured(boolean isToServer, ByteBuf datagram) {}

  /** The sequence number and the timestamp of a PUSH. */
  private record Transmission(int sn, int ts) {}

  /** Forwards the datagrams of one client, and keeps a copy of each. */
  private static final class CapturingRelay implements AutoCloseable {

    private final DatagramSocket front = new DatagramSocket();
    private final DatagramSocket back = new DatagramSocket();
    private final List<Captured> captured = new ArrayList<>();
    private volatile SocketAddress client;

    CapturingRelay(InetSocketAddress server) throws IOException {
      back.connect(server);
      new Thread(() -> forward(front, back, true), "to-server").start();
      new Thread(() -> forward(back, front, false), "to-client").start();
    }

    private void forward(DatagramSocket from, DatagramSocket to, boolean isToServer) {
      byte[] buffer = new byte[2048];
      try {
        while (true) {
          DatagramPacket packet = new DatagramPacket(buffer, buffer.length);
          from.receive(packet);
          if (isToServer) {
            client = packet.getSocketAddress();
          }
          byte[] bytes = Arrays.copyOf(buffer, packet.getLength());
          synchronized (captured) {
            captured.add(new Captured(isToServer, Unpooled.wrappedBuffer(bytes)));
          }
          DatagramPacket copy = new DatagramPacket(bytes, bytes.length);
          if (!isToServer) {
            copy.setSocketAddress(client);
          }
          to.send(copy);
        }
      } catch (IOException e) {
        // A socket was closed: the test is over.
      }
    }

    List<Captured> captured() {
      synchronized (captured) {
        return List.copyOf(captured);
      }
    }

    @Override
    public void close() {
      front.close();
      back.close();
    }
  }

  /** Counts the bytes that are echoed. */
  private static final class Counting extends SimpleChannelInboundHandler<ByteBuf> {

    private final AtomicInteger received = new AtomicInteger();

    @Override
    protected void channelRead0(ChannelHandlerContext ctx, ByteBuf msg) {
      received.addAndGet(msg.readableBytes());
    }
  }

  @Test
  void kcpGoIsSentNothingButStandardKcpAfterItsThirdAcknowledgement() throws Exception {
    SessionSettings settings =
        SessionSettings.DEFAULT.with(CipherAlgorithm.NULL).with(FecConfig.NONE, FecConfig.NONE);
    EventLoopGroup group = PeerTransport.NIO.newGroup();
    try (GoPeer server = GoPeer.server("echo-server", settings.goFlags());
        CapturingRelay relay = new CapturingRelay(server.address())) {
      Counting counting = new Counting();
      Bootstrap bootstrap =
          new Bootstrap()
              .group(group)
              .channel(KcpChannel.class)
              .option(KcpChannelOption.CONFIG, settings.config())
              .handler(counting);
      InetSocketAddress front =
          new InetSocketAddress(NetUtil.LOCALHOST4, relay.front.getLocalPort());
      KcpChannel client = (KcpChannel) bootstrap.connect(front).sync().channel();
      for (int i = 1; i <= MESSAGES; i++) {
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[100])).sync();
        int expected = 100 * i;
        await().until(() -> counting.received.get() == expected);
      }
      client.close().sync();
      server.finish();
      assertEquals(0, server.count("kcp_errors"));
      check(relay.captured());
    } finally {
      group.shutdownGracefully(0, 5, SECONDS).sync();
    }
  }

  private static void check(List<Captured> captured) {
    Set<Transmission> offers = new HashSet<>();
    int acknowledged = 0;
    int after = 0;
    for (Captured next : captured) {
      ByteBuf datagram = next.datagram;
      if (!next.isToServer) {
        assertEquals(-1, message(datagram), "kcp-go sends no messages");
        acknowledged += acknowledgesOffer(datagram, offers) ? 1 : 0;
      } else if (message(datagram) >= 0) {
        assertTrue(acknowledged < MAX_ACKNOWLEDGED, "an offer after three acknowledgements");
        int push = lastPush(datagram);
        offers.add(new Transmission(Segment.sn(datagram, push), Segment.ts(datagram, push)));
      } else if (acknowledged >= MAX_ACKNOWLEDGED) {
        after++;
      }
    }
    assertTrue(acknowledged >= MAX_ACKNOWLEDGED, acknowledged + " acknowledgements");
    assertTrue(after > 0, "nothing was sent after them");
  }

  /** The index of the segment that has a message, or -1. */
  private static int message(ByteBuf datagram) {
    int found = -1;
    for (int i = 0; i < datagram.writerIndex(); i += bytes(datagram, i)) {
      if (Segment.cmd(datagram, i) == Segment.WINS && Segment.length(datagram, i) > 0) {
        found = i;
      }
    }
    return found;
  }

  private static int bytes(ByteBuf datagram, int index) {
    return Segment.HEADER_BYTES + Segment.length(datagram, index);
  }

  private static int lastPush(ByteBuf datagram) {
    int last = -1;
    for (int i = 0; i < datagram.writerIndex(); i += bytes(datagram, i)) {
      last = Segment.cmd(datagram, i) == Segment.PUSH ? i : last;
    }
    return last;
  }

  private static boolean acknowledgesOffer(ByteBuf datagram, Set<Transmission> offers) {
    boolean isFound = false;
    for (int i = 0; i < datagram.writerIndex(); i += bytes(datagram, i)) {
      Transmission acknowledged =
          new Transmission(Segment.sn(datagram, i), Segment.ts(datagram, i));
      isFound |= Segment.cmd(datagram, i) == Segment.ACK && offers.contains(acknowledged);
    }
    return isFound;
  }
}
