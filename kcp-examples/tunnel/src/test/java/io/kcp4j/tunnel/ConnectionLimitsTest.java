package io.kcp4j.tunnel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.TransportChoice;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.KcpChannelEvent;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.nio.NioIoHandler;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

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
    EmbeddedChannel session = sessionWithStreams(limits, 3);
    assertEquals(ConnectionLimits.MAX_UNANSWERED - 3, leftForUnanswered(limits));
    session.pipeline().fireUserEventTriggered(KcpChannelEvent.ESTABLISHED);
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered(limits));
    session.finishAndReleaseAll();
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered(limits));
  }

  private static EmbeddedChannel sessionWithStreams(ConnectionLimits limits, int streams) {
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
    session.writeInbound(frames(streams));
    return session;
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
  void portsOfAServerShareItsSessions() {
    int sessions = new KcpServerChannel().config().getOption(KcpServerChannelOption.MAX_SESSIONS);
    assertEquals(sessions, TunnelServer.maxSessions(1));
    assertEquals(sessions / 100, TunnelServer.maxSessions(100));
    assertEquals(1, TunnelServer.maxSessions(65_535 + sessions));
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

  /** Opens connections and ends them; returns how many the limits have allowed. */
  private static int churn(ConnectionLimits limits, String peer, int connections)
      throws IOException {
    int allowed = 0;
    for (int i = 0; i < connections && limits.tryOpen(address(peer)); i++) {
      limits.connected();
      limits.closedFirst(address(peer));
      allowed++;
    }
    return allowed;
  }

  @Test
  void portsInTimeWaitAreLimitedOfEachAddressAndOfAll() throws IOException {
    AtomicLong nowNs = new AtomicLong(Long.MAX_VALUE - ConnectionLimits.TIME_WAIT_NS / 2);
    ConnectionLimits limits = new ConnectionLimits(2, 1, nowNs::get);
    int ofAddress = ConnectionLimits.MAX_PORTS_OF_ADDRESS;
    for (int i = 1; i <= ConnectionLimits.MAX_PORTS / ofAddress; i++) {
      assertEquals(ofAddress, churn(limits, "10.0.0." + i, ofAddress + 1));
    }
    assertEquals(0, limits.open());
    assertFalse(limits.tryOpen(address("10.0.0.99")));
    nowNs.addAndGet(ConnectionLimits.TIME_WAIT_NS - 1);
    assertFalse(limits.tryOpen(address("10.0.0.99")));
    nowNs.incrementAndGet();
    assertEquals(0, limits.portsInTimeWait());
    assertTrue(limits.tryOpen(address("10.0.0.99")));
    assertTrue(limits.tryOpen(address("10.0.0.1")));
  }

  @Test
  void loadTestWithShortConnectionsHasPortsForTwentySeconds() throws IOException {
    AtomicLong nowNs = new AtomicLong();
    ConnectionLimits limits = new ConnectionLimits(16_384, 4096, nowNs::get);
    for (int s = 0; s < 20; s++) {
      assertEquals(200, churn(limits, "10.0.0.1", 200));
      nowNs.addAndGet(TimeUnit.SECONDS.toNanos(1));
    }
    assertTrue(churn(limits, "10.0.0.1", 200) < 200);
    for (int browser = 2; browser <= 50; browser++) {
      assertEquals(100, churn(limits, "10.0.0." + browser, 100));
    }
  }

  @Test
  void portIsInTimeWaitUnlessTheTargetEndsTheConnectionFirst() throws Exception {
    AtomicLong nowNs = new AtomicLong();
    ConnectionLimits limits = new ConnectionLimits(100, 100, nowNs::get);
    EventLoopGroup group = new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
    try (TcpTarget target = TcpTarget.echoOf(1);
        RunningTunnel client = clientOf(serverWith(limits, group, target))) {
      assertTrue(echoes(client.port()));
      await().until(() -> limits.open() == 0);
      assertEquals(0, limits.portsInTimeWait());
      TunnelUser.connect(client.port()).close();
      await().until(() -> limits.portsInTimeWait() == 1);
      assertEquals(0, limits.open());
      nowNs.set(ConnectionLimits.TIME_WAIT_NS);
      assertEquals(0, limits.portsInTimeWait());
    } finally {
      group.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
    }
  }

  private static Tunnel serverWith(ConnectionLimits limits, EventLoopGroup group, TcpTarget target)
      throws Exception {
    TunnelSettings settings =
        CommandLine.populateCommand(new TunnelOptions(), "--key=" + RunningTunnel.KEY)
            .settings(new TunnelDefaults(1024, 1024, 30));
    TunnelContext context =
        new TunnelContext(
            settings,
            TransportChoice.NIO,
            TunnelLog.open("", new PrintWriter(Writer.nullWriter()), true),
            new TunnelStatistics(),
            new ForwardingLimit(1024 * 1024));
    PortRange listen = PortRange.parse("--listen", "127.0.0.1:0");
    RemoteHost remote = new RemoteHost(PortRange.single("--target", target.address()));
    return TunnelServer.start(group, context, listen, remote, limits, 1);
  }

  private static RunningTunnel clientOf(Tunnel server) {
    return RunningTunnel.client("127.0.0.1:" + server.addresses().get(0).getPort(), "");
  }

  /** The connections of a forged session that ends leave their ports in TIME_WAIT. */
  @Test
  void sessionThatHasNotAnsweredTakesItsConnectionsOffWhenTheirPortsAreFree() {
    AtomicLong nowNs = new AtomicLong();
    ConnectionLimits limits = new ConnectionLimits(1_000, 1_000, nowNs::get);
    EmbeddedChannel session = sessionWithStreams(limits, 3);
    session.finishAndReleaseAll();
    nowNs.set(ConnectionLimits.TIME_WAIT_NS - 1);
    assertEquals(ConnectionLimits.MAX_UNANSWERED - 3, leftForUnanswered(limits));
    nowNs.incrementAndGet();
    assertEquals(ConnectionLimits.MAX_UNANSWERED, leftForUnanswered(limits));
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
