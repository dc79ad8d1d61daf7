package io.kcp4j.examples;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.parallel.ExecutionMode.CONCURRENT;

import io.kcp4j.command.Cli;
import io.kcp4j.command.Cli.Background;
import io.kcp4j.command.Cli.Outcome;
import io.kcp4j.command.HostPort;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Execution(CONCURRENT)
class EchoCommandsTest {

  private final EventLoopGroup group =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());

  @AfterEach
  void stop() {
    group.shutdownGracefully(0, 2, TimeUnit.SECONDS).syncUninterruptibly();
  }

  @ParameterizedTest
  @ValueSource(strings = {"--stream", "--message"})
  void everyByteIsEchoed(String delivery) throws Exception {
    try (RunningServer server = new RunningServer("echo-server", delivery)) {
      Outcome outcome =
          Cli.run(
              KcpCommand.commandLine(),
              "echo-client",
              "--remote",
              server.address(),
              "--bytes",
              "1000000",
              delivery);
      assertEquals("", outcome.err());
      assertEquals(0, outcome.exitCode());
      assertTrue(outcome.out().startsWith("1000000 bytes echoed correctly"), outcome.out());
      assertEquals(130, server.stop().exitCode());
    }
  }

  @Test
  void qlogOfEachSessionIsWritten(@TempDir Path directory) throws Exception {
    Path traces = directory.resolve("qlog");
    try (RunningServer server = new RunningServer("echo-server", "--qlog", traces.toString())) {
      String line = "echo-client --conv 7 --bytes 100000 --qlog " + traces + " --remote ";
      Outcome outcome = Cli.run(KcpCommand.commandLine(), (line + server.address()).split(" "));
      assertEquals("", outcome.err());
      assertEquals(0, outcome.exitCode());
    }
    List<String> client = records(traces, "client-");
    List<String> server = records(traces, "server-");
    assertTrue(client.get(0).contains("\"vantage_point\":{\"type\":\"client\"}"), client.get(0));
    assertTrue(server.get(0).contains("\"vantage_point\":{\"type\":\"server\"}"), server.get(0));
    long sent = client.stream().filter(record -> record.contains("\"kcp:packet_sent\"")).count();
    assertTrue(sent >= 100_000 / 1176, sent + " segments sent");
    assertTrue(server.stream().anyMatch(record -> record.contains("\"kcp:packets_acked\"")));
  }

  /** The records of the one trace whose name begins so. */
  private static List<String> records(Path traces, String prefix) throws IOException {
    try (Stream<Path> files = Files.list(traces)) {
      List<Path> found =
          files.filter(file -> file.getFileName().toString().startsWith(prefix)).toList();
      assertEquals(1, found.size(), found.toString());
      List<String> records = Files.readAllLines(found.get(0));
      records.forEach(
          record -> assertTrue(record.startsWith("\u001e{") && record.endsWith("}"), record));
      return records;
    }
  }

  @Test
  void optionsOfBothSidesMayDiffer() throws Exception {
    try (RunningServer server =
        new RunningServer("echo-server", "--mode", "fast3", "--mtu", "576", "--transport", "nio")) {
      String line =
          "echo-client --nodelay 1 --interval 10 --resend 2 --nc 1 --acknodelay --sndwnd 64 --rcvwnd"
              + " 512 --sockbuf 100000 --conv 4294967295 --transport nio --bytes 100000 --remote ";
      assertEquals(
          0, Cli.run(KcpCommand.commandLine(), (line + server.address()).split(" ")).exitCode());
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "--key secret",
        "--key secret --crypt salsa20 --datashard 10 --parityshard 3",
        "--crypt none --datashard 3 --parityshard 2",
        "--crypt none --adaptive-fec",
        "--congestion-control bbr",
        "--congestion-control bbr --crypt none --adaptive-fec",
        "--crypt null"
      })
  void everyByteIsEchoedThroughCipherAndFec(String layers) throws Exception {
    try (RunningServer server = new RunningServer("echo-server", layers.split(" "))) {
      String line = "echo-client " + layers + " --bytes 100000 --remote " + server.address();
      Outcome outcome = Cli.run(KcpCommand.commandLine(), line.split(" "));
      assertEquals("", outcome.err());
      assertEquals(0, outcome.exitCode());
    }
  }

  @Test
  void clientWithAnotherKeyGetsNoAnswer() throws Exception {
    try (RunningServer server = new RunningServer("echo-server", "--key", "one")) {
      Outcome outcome =
          Cli.run(
              KcpCommand.commandLine(),
              "echo-client",
              "--key",
              "two",
              "--bytes",
              "1",
              "--remote",
              server.address());
      assertEquals(1, outcome.exitCode());
      assertTrue(outcome.err().contains("no answer"), outcome.err());
      String end = server.stop().out();
      assertTrue(end.contains("packets that no key decrypts: a peer has another --key"), end);
    }
  }

  @Test
  void serverPrintsCountersAndMismatchesWhenStopped() throws Exception {
    try (RunningServer server = new RunningServer("echo-server", "--stream")) {
      Cli.run(
          KcpCommand.commandLine(),
          "echo-client",
          "--message",
          "--bytes",
          "50000",
          "--remote",
          server.address());
      String end = server.stop().out();
      assertTrue(end.contains("1 sessions, received "), end);
      assertTrue(end.contains("fragments in streams: a peer has --message"), end);
    }
  }

  @Test
  void standardInputIsEchoed() throws Exception {
    InputStream original = System.in;
    System.setIn(new ByteArrayInputStream(new byte[12345]));
    try (RunningServer server = new RunningServer("echo-server")) {
      Outcome outcome =
          Cli.run(KcpCommand.commandLine(), "echo-client", "--remote", server.address());
      assertEquals(0, outcome.exitCode());
      assertTrue(outcome.out().startsWith("12345 bytes echoed correctly"), outcome.out());
    } finally {
      System.setIn(original);
    }
  }

  @Test
  void alteredByteIsReported() throws Exception {
    Outcome outcome = echoAgainst(AlteringEcho::new, "--bytes", "200000");
    assertEquals(1, outcome.exitCode());
    String expected =
        "kcp echo-client: byte 123456 was echoed as 0x[0-9a-f]{2}, but 0x[0-9a-f]{2} .*\\R";
    assertTrue(outcome.err().matches(expected), outcome.err());
  }

  @Test
  void serverThatDoesNotEchoTimesOut() throws Exception {
    Outcome outcome = echoAgainst(Sink::new, "--bytes", "1000", "--idle-timeout", "1");
    assertEquals(1, outcome.exitCode());
    assertTrue(outcome.err().contains("IDLE_TIMEOUT"), outcome.err());
    assertEquals(1, outcome.err().lines().count());
  }

  @Test
  void interruptedClientPrintsItsSummary() throws Exception {
    Channel server = listen(Sink::new);
    try (Background client =
        new Background(
            KcpCommand.commandLine(),
            "echo-client",
            "--remote",
            address(server),
            "--bytes",
            "1000000000")) {
      await().until(() -> server.pipeline().get(Children.class).count.get() > 0);
      Outcome outcome = client.stop();
      assertEquals(130, outcome.exitCode());
      assertTrue(outcome.out().startsWith("0 bytes echoed correctly"), outcome.out());
      assertEquals("", outcome.err());
    }
  }

  private Outcome echoAgainst(Supplier<ChannelHandler> handler, String... options)
      throws InterruptedException {
    String[] args = new String[options.length + 3];
    args[0] = "echo-client";
    args[1] = "--remote";
    args[2] = address(listen(handler));
    System.arraycopy(options, 0, args, 3, options.length);
    return Cli.run(KcpCommand.commandLine(), args);
  }

  private static String address(Channel server) {
    return HostPort.format((InetSocketAddress) server.localAddress());
  }

  private Channel listen(Supplier<ChannelHandler> handler) throws InterruptedException {
    return new ServerBootstrap()
        .group(group)
        .channel(KcpServerChannel.class)
        .handler(new Children())
        .childHandler(
            new ChannelInitializer<KcpChannel>() {
              @Override
              protected void initChannel(KcpChannel session) {
                session.pipeline().addLast(handler.get());
              }
            })
        .bind(InetAddress.getLoopbackAddress(), 0)
        .sync()
        .channel();
  }

  /** Counts the sessions that a server has accepted. */
  private static final class Children extends ChannelInboundHandlerAdapter {
    private final AtomicInteger count = new AtomicInteger();

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      count.incrementAndGet();
      ctx.fireChannelRead(msg);
    }
  }

  /** Echoes with one byte changed. */
  private static final class AlteringEcho extends ChannelInboundHandlerAdapter {
    private int altered = 123456;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ByteBuf in = (ByteBuf) msg;
      if (altered >= 0 && altered < in.readableBytes()) {
        int index = in.readerIndex() + altered;
        in.setByte(index, ~in.getByte(index));
      }
      altered -= in.readableBytes();
      ctx.writeAndFlush(in);
    }
  }

  /** Reads and does not answer. */
  private static final class Sink extends ChannelInboundHandlerAdapter {
    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ((ByteBuf) msg).release();
    }
  }
}
