package io.kcp4j.tunnel;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.TransportChoice;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** A TCP connection takes the place of the stream: it behaves in the same way. */
class TunnelConnectionTest {

  /** More than all buffers between the two users hold. */
  private static final int LONG_BYTES = 30_000_000;

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final BlockingQueue<SocketChannel> accepted = new LinkedBlockingQueue<>();
  private final StringWriter log = new StringWriter();
  private final ForwardingLimit forwarding = new ForwardingLimit(4 * 1024 * 1024);
  private TunnelContext context;
  private int port;

  /** What the user and the target use, and the channels that the connection joins. */
  private Socket user;

  private Socket target;
  private SocketChannel tcp;
  private SocketChannel stream;
  private TunnelConnection connection;

  @BeforeEach
  void connect() throws Exception {
    connect(0);
  }

  private void connect(int closeWaitS) throws Exception {
    TunnelSettings settings =
        CommandLine.populateCommand(new TunnelOptions())
            .settings(new TunnelDefaults(1, 1, closeWaitS));
    TunnelLog lines = TunnelLog.open("", new PrintWriter(log), false);
    context =
        new TunnelContext(settings, TransportChoice.NIO, lines, new TunnelStatistics(), forwarding);
    Channel server =
        new ServerBootstrap()
            .group(group)
            .channel(NioServerSocketChannel.class)
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    new ConnectionOptions(forwarding).set(channel);
                    accepted.add(channel);
                  }
                })
            .bind(InetAddress.getLoopbackAddress(), 0)
            .sync()
            .channel();
    port = ((InetSocketAddress) server.localAddress()).getPort();
    join();
  }

  private void join() throws Exception {
    user = TunnelUser.connect(port);
    tcp = accepted.take();
    target = TunnelUser.connect(port);
    stream = accepted.take();
    context.statistics().connectionOpened();
    connection = new TunnelConnection(context, tcp, stream);
    group.next().submit(connection::start).syncUninterruptibly();
  }

  private static void stop(Socket user, Socket target) throws IOException {
    user.close();
    target.close();
  }

  @AfterEach
  void stop() throws Exception {
    stop(user, target);
    group.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
    assertEquals(0, context.statistics().open());
  }

  @Test
  void bytesAreCarriedBothWaysAndEachDirectionEndsOnItsOwn() throws Exception {
    byte[] question = TunnelUser.data(1, 100_000);
    byte[] answer = TunnelUser.data(2, 300_000);
    user.getOutputStream().write(question);
    user.shutdownOutput();
    assertArrayEquals(question, target.getInputStream().readAllBytes());
    assertTrue(tcp.isOpen() && stream.isOpen());
    target.getOutputStream().write(answer);
    target.shutdownOutput();
    assertArrayEquals(answer, user.getInputStream().readAllBytes());
    await().until(() -> !tcp.isOpen() && !stream.isOpen());
    assertEquals(question.length, context.statistics().fromTcp.sum());
    assertEquals(answer.length, context.statistics().toTcp.sum());
  }

  @Test
  void whileTheTargetDoesNotReadTheUserIsNotRead() throws Exception {
    byte[] data = TunnelUser.data(3, LONG_BYTES);
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(user, data));
    await().until(() -> !tcp.config().isAutoRead());
    long limit = ForwardingLimit.MAX_PART_BYTES + 2L * 64 * 1024;
    long pending = stream.unsafe().outboundBuffer().totalPendingWriteBytes();
    assertTrue(pending < limit, "" + pending);
    assertArrayEquals(data, target.getInputStream().readNBytes(data.length));
    sent.get();
    await().until(() -> tcp.config().isAutoRead());
  }

  @Test
  void connectionsThatAreNotReadHoldNoMoreThanTheLimitTogether() throws Exception {
    List<Socket> sockets = new ArrayList<>(List.of(user, target));
    for (int i = 0; i < 60; i++) { // By 256 KiB of each, four times the limit.
      SocketChannel unread = tcp;
      Socket from = user;
      CompletableFuture.runAsync(() -> sendUntilClosed(from));
      await().until(() -> !unread.config().isAutoRead());
      join();
      sockets.addAll(List.of(user, target));
    }
    long limit = 4 * 1024 * 1024 + 61 * ForwardingLimit.MIN_PART_BYTES;
    assertTrue(forwarding.heldBytes() > limit / 2, "" + forwarding.heldBytes());
    assertTrue(forwarding.heldBytes() <= limit, "" + forwarding.heldBytes());
    byte[] data = TunnelUser.data(7, 300_000);
    CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(user, data));
    assertArrayEquals(data, target.getInputStream().readNBytes(data.length));
    sent.get();
    for (Socket socket : sockets) {
      socket.close();
    }
    await().until(() -> forwarding.heldBytes() == 0);
  }

  private static void sendUntilClosed(Socket socket) {
    try {
      while (true) {
        socket.getOutputStream().write(new byte[64 * 1024]);
      }
    } catch (IOException e) {
      // The test is over.
    }
  }

  @Test
  void whatWasReadBeforeTheEndIsWrittenBeforeTheEnd() throws Exception {
    byte[] data = TunnelUser.data(4, LONG_BYTES);
    CompletableFuture<Void> sent =
        CompletableFuture.runAsync(
            () -> {
              send(user, data);
              shutdownOutput(user);
            });
    await().until(() -> !tcp.config().isAutoRead());
    assertArrayEquals(data, target.getInputStream().readAllBytes());
    sent.get();
  }

  private static void send(Socket socket, byte[] data) {
    try {
      socket.getOutputStream().write(data);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void shutdownOutput(Socket socket) {
    try {
      socket.shutdownOutput();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void whatIsStillToBeWrittenWhenTheUserClosesIsWritten() throws Exception {
    byte[] data = TunnelUser.data(5, 1_000_000);
    user.getOutputStream().write(data);
    user.close();
    assertArrayEquals(data, target.getInputStream().readAllBytes());
  }

  @Test
  void aReaderThatTakesNothingMoreDoesNotKeepAConnectionThatHasClosed() throws Exception {
    stop(user, target);
    connect(1);
    for (int i = 0; i < 100; i++) {
      stream.writeAndFlush(Unpooled.wrappedBuffer(new byte[LONG_BYTES / 100]));
    }
    long startNs = System.nanoTime();
    tcp.close().sync();
    stream.eventLoop().submit(() -> {}).sync(); // What follows from that has been done.
    target.getInputStream().readNBytes(LONG_BYTES / 3); // It takes some within the first second.
    await().until(() -> !stream.isOpen());
    assertTrue(System.nanoTime() - startNs >= TimeUnit.SECONDS.toNanos(2));
  }

  @Test
  void whatWasReadIsWrittenHoweverLateWithoutALimit() throws Exception {
    CompletableFuture.runAsync(() -> send(user, TunnelUser.data(7, LONG_BYTES)));
    await().until(() -> !tcp.config().isAutoRead());
    tcp.close().sync();
    stream.eventLoop().schedule(() -> {}, 1, TimeUnit.MILLISECONDS).sync();
    long readBytes = target.getInputStream().readAllBytes().length;
    assertEquals(context.statistics().fromTcp.sum(), readBytes);
  }

  @Test
  void aUserThatResetsItsConnectionEndsTheStream() throws Exception {
    user.setSoLinger(true, 0);
    user.close();
    await().until(() -> !tcp.isOpen() && !stream.isOpen());
    assertEquals(-1, target.getInputStream().read());
  }

  @Test
  void aStreamThatClosesBeforeItsEndResetsTheConnection() throws Exception {
    target.getOutputStream().write(1);
    assertEquals(1, user.getInputStream().read());
    stream.close().sync();
    assertThrows(SocketException.class, () -> user.getInputStream().read());
  }

  private void assertTcpEndedFirst(boolean isFirst) {
    await().until(() -> !tcp.isOpen() && !stream.isOpen());
    boolean hasEndedFirst =
        group.next().submit(connection::hasEndedTcpFirst).syncUninterruptibly().getNow();
    assertEquals(isFirst, hasEndedFirst);
  }

  @Test
  void anEndOfTheStreamEndsTheTcpConnectionFirst() throws Exception {
    target.shutdownOutput();
    assertEquals(-1, user.getInputStream().read());
    user.shutdownOutput();
    assertTcpEndedFirst(true);
  }

  @Test
  void aTcpConnectionThatItsOtherSideHasEndedIsNotEndedFirst() throws Exception {
    user.shutdownOutput();
    assertEquals(-1, target.getInputStream().read());
    target.shutdownOutput();
    assertTcpEndedFirst(false);
  }

  @Test
  void halfATcpConnectionThatStaysWithoutDataIsEndedFirst() throws Exception {
    stop(user, target);
    connect(1);
    target.shutdownOutput();
    assertTcpEndedFirst(true);
  }

  @Test
  void aTcpConnectionThatIsResetIsNotEnded() throws Exception {
    stream.close().sync();
    assertTcpEndedFirst(false);
  }

  @Test
  void theLogHasBothChannels() throws Exception {
    user.shutdownOutput();
    target.shutdownOutput();
    await().until(() -> log.toString().contains("closed: "));
    String lines = log.toString();
    assertTrue(lines.matches("(?s).* opened: \\[id: .*\\], \\[id: .* closed: .*"), lines);
  }
}
