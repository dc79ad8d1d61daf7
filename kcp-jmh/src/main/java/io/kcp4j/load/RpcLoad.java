package io.kcp4j.load;

import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.internal.GrpcUtil;
import io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.NettyServerBuilder;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * A server or a client of gRPC that runs until its standard input ends. A server prints {@code
 * listening HOST:PORT} first. Either prints {@code unavailable REASON} instead if this machine
 * lacks a native library. A client answers each line {@code mark} with its round trips, see {@link
 * RoundTripHistogram}, and ends with an error when a call fails.
 */
@Command(
    name = "rpc-load",
    mixinStandardHelpOptions = true,
    versionProvider = RpcLoad.Versions.class,
    description = "One side of remote calls by gRPC that another process measures.")
public final class RpcLoad implements Callable<Integer> {

  /** What a client does. */
  enum Mode {
    /** Begins calls at a fixed rate. */
    UNARY,
    /** Keeps a number of messages of one stream unanswered. */
    BIDI,
    /** The same after a warm-up, with the first second apart; see {@link BidiReport}. */
    BIDI_FIRST_SECOND,
    /** Large calls of a fresh session, and after small calls; see {@link RpcLargeCalls}. */
    LARGE
  }

  private enum Transport {
    KCP,
    TCP
  }

  /** The versions of the JVM, of Netty and of gRPC, in one line. */
  static final class Versions implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String grpc = GrpcUtil.getGrpcBuildVersion().getImplementationVersion();
      return new String[] {new Load.Versions().getVersion()[0] + ", gRPC " + grpc};
    }
  }

  @ArgGroup(multiplicity = "1")
  private LoadRole role;

  @Option(
      names = "--mode",
      defaultValue = "unary",
      description = "What a client does: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private Mode mode;

  @Option(
      names = "--transport",
      defaultValue = "kcp",
      description = "One of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private Transport transport;

  @Option(
      names = "--message-bytes",
      paramLabel = "BYTES",
      defaultValue = "100",
      description = "Size of requests and responses (default: ${DEFAULT-VALUE}).")
  private int messageBytes;

  @Option(
      names = "--call-rate",
      paramLabel = "N",
      defaultValue = "200",
      description = "Unary calls per second (default: ${DEFAULT-VALUE}).")
  private int rate;

  @Option(
      names = "--in-flight",
      paramLabel = "N",
      defaultValue = "256",
      description = "Unanswered messages of the stream (default: ${DEFAULT-VALUE}).")
  private int inFlight;

  @Option(
      names = "--warm-up",
      paramLabel = "S",
      defaultValue = "0",
      description =
          "Time of a stream in a session before that of bidi_first_second"
              + " (default: ${DEFAULT-VALUE}).")
  private int warmUpS;

  @Option(
      names = "--small-calls",
      paramLabel = "N",
      defaultValue = "2000",
      description = "Small calls before those of mode large (default: ${DEFAULT-VALUE}).")
  private int smallCalls;

  @Option(
      names = "--large-bytes",
      paramLabel = "BYTES",
      defaultValue = "10485760",
      description = "Size of the large calls (default: ${DEFAULT-VALUE}).")
  private int largeBytes;

  @Mixin private KcpProtocol kcp;

  private final BufferedReader in;
  private final PrintStream out;
  private final Consumer<Throwable> onFailure;
  private final RoundTripHistogram roundTrips = new RoundTripHistogram();

  /** Whether calls fail because the client ends. */
  private volatile boolean isEnding;

  private RpcLoad(InputStream in, PrintStream out, Consumer<Throwable> onFailure) {
    this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    this.out = out;
    this.onFailure = onFailure;
  }

  /** See {@code --help}. */
  public static void main(String[] args) {
    System.exit(
        run(
            System.in,
            System.out,
            cause -> {
              System.err.println("a call has failed: " + cause);
              System.exit(1);
            },
            args));
  }

  /** Runs until the input ends; returns the exit status. */
  static int run(InputStream in, PrintStream out, Consumer<Throwable> onFailure, String... args) {
    return new CommandLine(new RpcLoad(in, out, onFailure))
        .registerConverter(InetSocketAddress.class, LoadRole::address)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .execute(args);
  }

  @Override
  public Integer call() throws Exception {
    if (!Epoll.isAvailable()) {
      out.println("unavailable " + Epoll.unavailabilityCause());
      return 0;
    }
    EventLoopGroup group =
        new MultiThreadIoEventLoopGroup(
            new DefaultThreadFactory("rpc-load", true), EpollIoHandler.newFactory());
    try {
      if (role.local() != null) {
        serve(group);
      } else {
        call(group);
      }
    } finally {
      group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    }
    return 0;
  }

  private void serve(EventLoopGroup group) throws IOException, InterruptedException {
    NettyServerBuilder builder =
        NettyServerBuilder.forAddress(role.local())
            .bossEventLoopGroup(group)
            .workerEventLoopGroup(group)
            .directExecutor()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .addService(RpcEcho.service());
    if (transport == Transport.KCP) {
      builder.channelType(KcpServerChannel.class);
      kcp.serverOptions(builder::withOption, builder::withChildOption);
    } else {
      builder.channelType(EpollServerSocketChannel.class);
      builder.withChildOption(ChannelOption.TCP_NODELAY, true);
    }
    Server server = builder.build().start();
    try {
      out.println(LoadRole.listening(server.getListenSockets().get(0)));
      roundTrips.answerMarks(in, out);
    } finally {
      server.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private void call(EventLoopGroup group) throws IOException, InterruptedException {
    if (mode == Mode.LARGE) {
      callLarge(group);
      return;
    }
    if (mode == Mode.BIDI_FIRST_SECOND && warmUpS > 0) {
      warmUp(group);
    }
    ManagedChannel channel = connect(group);
    try {
      start(channel, group).answerMarks(in, out);
    } finally {
      isEnding = true;
      channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
    }
  }

  private LoadReport start(ManagedChannel channel, EventLoopGroup group) {
    switch (mode) {
      case UNARY ->
          new RpcUnaryCalls(channel, messageBytes, roundTrips, this::failed)
              .start(group.next(), TimeUnit.SECONDS.toNanos(1) / rate);
      case BIDI ->
          stream(sentAtNs -> roundTrips.add(System.nanoTime() - sentAtNs), this::failed)
              .start(channel);
      case BIDI_FIRST_SECOND -> {
        BidiReport report = new BidiReport();
        stream(report::add, this::failed).start(channel);
        return report;
      }
      case LARGE -> throw new AssertionError(mode);
    }
    return roundTrips;
  }

  private RpcBidiStream stream(LongConsumer onEcho, Consumer<Throwable> onFailure) {
    return new RpcBidiStream(messageBytes, inFlight, onEcho, onFailure);
  }

  private void warmUp(EventLoopGroup group) throws InterruptedException {
    ManagedChannel channel = connect(group);
    stream(sentAtNs -> {}, cause -> {}).start(channel);
    TimeUnit.SECONDS.sleep(warmUpS);
    channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
  }

  private void callLarge(EventLoopGroup group) throws IOException {
    RpcLargeCalls calls =
        new RpcLargeCalls(() -> connect(group), messageBytes, smallCalls, largeBytes);
    CompletableFuture.runAsync(calls::run, task -> daemon(task).start())
        .whenComplete((ignored, cause) -> failedUnlessNull(cause));
    calls.answerMarks(in, out);
    isEnding = true;
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "large-calls");
    thread.setDaemon(true);
    return thread;
  }

  private void failedUnlessNull(Throwable cause) {
    if (cause != null) {
      failed(cause);
    }
  }

  private ManagedChannel connect(EventLoopGroup group) {
    NettyChannelBuilder builder =
        NettyChannelBuilder.forAddress(role.remote())
            .eventLoopGroup(group)
            .directExecutor()
            .maxInboundMessageSize(Integer.MAX_VALUE)
            .usePlaintext();
    if (transport == Transport.KCP) {
      builder.channelType(KcpChannel.class, InetSocketAddress.class);
      kcp.clientOptions(builder::withOption);
    } else {
      builder.channelType(EpollSocketChannel.class, InetSocketAddress.class);
      builder.withOption(ChannelOption.TCP_NODELAY, true);
    }
    return builder.build();
  }

  private void failed(Throwable cause) {
    if (!isEnding) {
      onFailure.accept(cause);
    }
  }
}
