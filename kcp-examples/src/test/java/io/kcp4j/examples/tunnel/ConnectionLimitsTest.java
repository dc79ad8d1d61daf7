package io.kcp4j.examples.tunnel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Segment;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** How many TCP connections the peers of a server can make it open. */
class ConnectionLimitsTest {

  private static final String PLAIN = "--crypt null --datashard 0 --parityshard 0 --nocomp";

  private static InetAddress address(String text) throws IOException {
    return InetAddress.getByName(text);
  }

  /** The first segment of a session, with so many streams of smux. */
  private static byte[] syns(int conv, int streams) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 0, 128, 1, 0, 0, 8 * streams);
    return ByteBufUtil.getBytes(out.writeBytes(frames(streams)));
  }

  /** The frames that begin so many streams. */
  private static ByteBuf frames(int streams) {
    ByteBuf out = Unpooled.buffer();
    for (int i = 0; i < streams; i++) {
      out.writeByte(2).writeByte(0).writeShortLE(0).writeIntLE(3 + 2 * i);
    }
    return out;
  }

  @Test
  void peersThatHaveNotAnsweredGetFewConnectionsAndOthersGoOn() throws Exception {
    AtomicInteger connections = new AtomicInteger();
    try (TcpTarget target =
            new TcpTarget(
                connection -> {
                  connections.incrementAndGet();
                  connection.getInputStream().transferTo(connection.getOutputStream());
                  connection.shutdownOutput();
                });
        RunningTunnel server = RunningTunnel.server(target.address(), PLAIN);
        DatagramSocket forger = new DatagramSocket()) {
      InetAddress loopback = InetAddress.getLoopbackAddress();
      for (int conv = 1; conv <= 100; conv++) {
        byte[] datagram = syns(conv, 100);
        forger.send(
            new DatagramPacket(
                datagram, datagram.length, new InetSocketAddress(loopback, server.port())));
      }
      await().until(() -> connections.get() >= ConnectionLimits.MAX_UNANSWERED);

      try (RunningTunnel client = RunningTunnel.client(server.address(), PLAIN)) {
        TunnelUser.checkEchoes(client.port(), 10, 1000);
        assertEquals(ConnectionLimits.MAX_UNANSWERED + 10, connections.get());
      }
    }
  }

  /** Otherwise each session that ends would let one that is forged have more of them. */
  @Test
  void sessionThatHasAnsweredTakesItsConnectionsOffOnce() {
    ConnectionLimits limits = new ConnectionLimits(1_000, 1_000);
    TargetConnector connector = new TargetConnector(null, null, limits, () -> true);
    ChannelInitializer<SmuxStreamChannel> streamHandler =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(SmuxStreamChannel stream) {
            connector.connect(stream);
          }
        };
    EmbeddedChannel session =
        new EmbeddedChannel(connector, new SmuxHandler(SmuxConfig.DEFAULT, false, streamHandler));
    session.writeInbound(frames(3));
    assertEquals(ConnectionLimits.MAX_UNANSWERED - 3, leftForUnanswered(limits));
    session.pipeline().fireUserEventTriggered(KcpChannelEvent.ESTABLISHED);
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered(limits));
    session.finishAndReleaseAll();
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered(limits));
  }

  private static int leftForUnanswered(ConnectionLimits limits) {
    int left = 0;
    while (limits.tryAddUnanswered()) {
      left++;
    }
    limits.removeUnanswered(left);
    return left;
  }

  @Test
  void connectionsBeyondTheLimitAreClosed() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), "--max-connections 2");
        RunningTunnel client = RunningTunnel.client(server.address(), "")) {
      List<Socket> open = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        Socket socket = TunnelUser.connect(client.port());
        socket.getOutputStream().write(i);
        assertEquals(i, socket.getInputStream().read());
        open.add(socket);
      }
      try (Socket third = TunnelUser.connect(client.port())) {
        third.getOutputStream().write(3);
        assertEquals(-1, readOrReset(third));
      }
      open.remove(0).close();
      await().until(() -> echoes(client.port()));
      open.remove(0).close();
      server.stop();
      assertTrue(server.log().contains("connections refused"), server.log());
      assertFalse(server.log().contains(" 0 connections refused"), server.log());
    }
  }

  private static boolean echoes(int port) throws IOException {
    try (Socket socket = TunnelUser.connect(port)) {
      socket.getOutputStream().write(7);
      return readOrReset(socket) == 7;
    }
  }

  private static int readOrReset(Socket socket) {
    try {
      return socket.getInputStream().read();
    } catch (IOException e) {
      return -1;
    }
  }

  @Test
  void usersOfAClientBeyondTheLimitAreClosed() throws Exception {
    try (TcpTarget target = TcpTarget.echo();
        RunningTunnel server = RunningTunnel.server(target.address(), "");
        RunningTunnel client =
            RunningTunnel.client(server.address(), "--max-connections-per-address 2")) {
      Socket first = TunnelUser.connect(client.port());
      try (Socket second = TunnelUser.connect(client.port());
          Socket third = TunnelUser.connect(client.port())) {
        assertEquals(-1, readOrReset(third));
        second.getOutputStream().write(2);
        assertEquals(2, second.getInputStream().read());
        first.close();
        await().until(() -> echoes(client.port()));
      }
      client.stop();
      assertTrue(client.log().contains("connections refused"), client.log());
      assertFalse(client.log().contains(" 0 connections refused"), client.log());
      assertFalse(client.log().contains("no session for"), client.log());
    }
  }

  @Test
  void programsOfThisMachineMayHaveAllConnectionsOfAClient() throws IOException {
    ConnectionLimits limits = ConnectionLimits.exceptLoopback(5, 2);
    for (String user : new String[] {"127.0.0.1", "127.0.0.1", "127.0.0.1", "10.0.0.1"}) {
      assertTrue(limits.tryOpen(address(user)));
    }
    assertTrue(limits.tryOpen(address("10.0.0.1")));
    assertFalse(limits.tryOpen(address("127.0.0.1")));
    limits.closed(address("127.0.0.1"));
    assertFalse(limits.tryOpen(address("10.0.0.1")));
    assertTrue(limits.tryOpen(address("::1")));
  }

  @Test
  void oneAddressHasFewerThanAll() throws IOException {
    ConnectionLimits limits = new ConnectionLimits(5, 2);
    assertTrue(limits.tryOpen(address("10.0.0.1")));
    assertTrue(limits.tryOpen(address("10.0.0.1")));
    assertFalse(limits.tryOpen(address("10.0.0.1")));
    assertTrue(limits.tryOpen(address("2001:db8:0:1::1")));
    assertTrue(limits.tryOpen(address("2001:db8:0:2::1")));
    assertFalse(limits.tryOpen(address("2001:db8:0:3::1")));
    assertTrue(limits.tryOpen(address("10.0.0.2")));
    assertFalse(limits.tryOpen(address("10.0.0.3")));
    assertEquals(5, limits.open());
    limits.closed(address("10.0.0.1"));
    assertTrue(limits.tryOpen(address("10.0.0.1")));
  }

  @Test
  void connectionsThatTheTargetHasNotAcceptedAreLimited() throws IOException {
    ConnectionLimits limits = new ConnectionLimits(Integer.MAX_VALUE, Integer.MAX_VALUE);
    for (int i = 0; i < ConnectionLimits.MAX_CONNECTING; i++) {
      assertTrue(limits.tryOpen(address("10.0.0.1")));
    }
    assertFalse(limits.tryOpen(address("10.0.0.2")));
    limits.connected();
    assertTrue(limits.tryOpen(address("10.0.0.2")));
  }

  /** Adds addresses whose first 7 bytes have this sum of products with the powers of 31. */
  private static void addColliding(byte[] address, int at, long sum, List<InetAddress> found)
      throws UnknownHostException {
    if (at < 0) {
      if (sum == 0) {
        found.add(InetAddress.getByAddress(address));
      }
      return;
    }
    long power = 1;
    for (int i = 0; i < at; i++) {
      power *= 31;
    }
    for (int value = Byte.MIN_VALUE; value <= Byte.MAX_VALUE && found.size() < 40_000; value++) {
      long rest = sum - value * power;
      if (Math.abs(rest) <= 4 * power) { // What the bytes before it can come to.
        address[at] = (byte) value;
        addColliding(address, at - 1, rest, found);
      }
    }
  }

  /** The hash map keeps colliding networks in a tree; with a list this would take minutes. */
  @Test
  @Timeout(30)
  void networksThatCollideAreFoundByTheirOrder() throws IOException {
    List<InetAddress> colliding = new ArrayList<>();
    addColliding(new byte[16], 6, 12_345, colliding);
    assertEquals(40_000, colliding.size());
    ConnectionLimits limits = new ConnectionLimits(Integer.MAX_VALUE, 1);
    for (InetAddress address : colliding) {
      assertFalse(Thread.interrupted(), limits.open() + " connections within the timeout");
      assertTrue(limits.tryOpen(address));
      limits.connected();
    }
    for (InetAddress address : colliding) {
      assertFalse(limits.tryOpen(address));
      limits.closed(address);
    }
    assertEquals(0, limits.open());
  }
}
