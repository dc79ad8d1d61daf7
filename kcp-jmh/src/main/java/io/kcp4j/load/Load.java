package io.kcp4j.load;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.handler.codec.quic.Quic;
import io.netty.util.Version;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * A server or a client that runs until its standard input ends. A server prints {@code listening
 * HOST:PORT} first. Either prints {@code unavailable REASON} instead if this machine lacks a native
 * library, and answers each line {@code mark} with a {@link LoadReport}.
 */
@Command(
    name = "load",
    mixinStandardHelpOptions = true,
    versionProvider = Load.Versions.class,
    description = "One side of a transfer that another process measures.")
public final class Load implements Callable<Integer> {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(Load.class);

  /** What a client does. GAME is also the mode of its server. */
  enum Mode {
    /** Sends as fast as it can. */
    SINK,
    /** Sends data to be echoed, as fast as it can. */
    ECHO,
    /** As SINK, with small echoed messages in a second session. */
    PING,
    /** Sends the messages of a game, which are echoed. */
    GAME,
    /**
     * Sends the messages of a game one way, on a lane for each entity if there are lanes. Also the
     * mode of its server, which measures.
     */
    LANES,
    /** Opens sessions one after another, to a server of the mode GAME. */
    ARRIVALS,
    /** Sends numbered messages, each when an earlier one is echoed. Also the mode of its server. */
    REQUESTS,
    /** Sends numbered messages at the ticks of a game. Also the mode of its server. */
    WRITES,
    /** Sends numbered bytes as fast as it can. Also the mode of its server. */
    UPLOAD
  }

  private enum Protocol {
    KCP,
    TCP,
    QUIC
  }

  /** The versions of the JVM and of Netty, in one line. */
  static final class Versions implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String netty = Version.identify().get("netty-common").artifactVersion();
      return new String[] {
        System.getProperty("java.vm.name") + " " + Runtime.version() + ", Netty " + netty
      };
    }
  }

  @ArgGroup(multiplicity = "1")
  private LoadRole role;

  @Option(
      names = "--mode",
      defaultValue = "sink",
      description = "What a client does: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private Mode mode;

  @Option(
      names = "--transport",
      defaultValue = "kcp",
      description = "One of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
  private Protocol protocol;

  @Mixin private KcpProtocol kcp;

  @Mixin private TcpProtocol tcp;

  @Mixin private GameTraffic game;

  @Mixin private GameServer gameServer;

  @Mixin private Arrivals arrivals;

  @Mixin private NumberedTraffic numbered;

  private final BufferedReader in;
  private final PrintStream out;
  private final LoadStats stats = new LoadStats();
  private final RoundTripHistogram roundTrips = new RoundTripHistogram();
  private final DeliveryLog deliveries = new DeliveryLog();
  private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

  private Load(InputStream in, PrintStream out) {
    this.in = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    this.out = out;
  }

  /** See {@code --help}. */
  public static void main(String[] args) {
    System.exit(run(System.in, System.out, args));
  }

  /** Runs until the input ends; returns the exit status. */
  static int run(InputStream in, PrintStream out, String... args) {
    return new CommandLine(new Load(in, out))
        .registerConverter(InetSocketAddress.class, LoadRole::address)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .execute(args);
  }

  @Override
  public Integer call() throws Exception {
    Throwable missing = missing();
    if (missing != null) {
      out.println("unavailable " + missing);
      return 0;
    }
    EventLoopGroup group =
        new MultiThreadIoEventLoopGroup(
            new DefaultThreadFactory("load", true), EpollIoHandler.newFactory());
    try {
      start(group);
      report().answerMarks(in, out);
    } finally {
      channels.close().awaitUninterruptibly();
      group.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
    }
    return 0;
  }

  private Throwable missing() {
    if (!Epoll.isAvailable()) {
      return Epoll.unavailabilityCause();
    }
    return protocol == Protocol.QUIC ? Quic.unavailabilityCause() : null;
  }

  private LoadProtocol loadProtocol() {
    return switch (protocol) {
      case KCP -> kcp;
      case TCP -> tcp;
      case QUIC -> new QuicProtocol();
    };
  }

  private void start(EventLoopGroup group) throws Exception {
    LoadProtocol loadProtocol = loadProtocol();
    if (role.local() != null) {
      Channel server = loadProtocol.listen(group, role.local(), session(serverHandler()));
      channels.add(server);
      // The first line that the JDK's logging writes takes tens of milliseconds. A server writes
      // it when it starts, not on an event loop when it first meets a hostile peer.
      logger.info("{} listens", server);
      out.println(LoadRole.listening(server.localAddress()));
      return;
    }
    if (mode == Mode.ARRIVALS) {
      arrivals.start(loadProtocol, group, role.remote(), this::session);
      out.println("started");
      return;
    }
    if (mode == Mode.UPLOAD && numbered.warmUpBytes() > 0) {
      warmUp(loadProtocol, group);
      return;
    }
    channels.add(loadProtocol.connect(group, role.remote(), session(clientHandler())));
    if (mode == Mode.PING) {
      channels.add(loadProtocol.connect(group, role.remote(), session(new LoadPinger(stats))));
    }
  }

  /** Uploads in a session of its own, and in a second one when that is answered. */
  private void warmUp(LoadProtocol loadProtocol, EventLoopGroup group) throws Exception {
    CompletableFuture<Void> answered = new CompletableFuture<>();
    ChannelHandler client =
        new UploadClient(numbered.warmUpBytes(), () -> answered.complete(null), deliveries);
    Channel warm = loadProtocol.connect(group, role.remote(), session(client));
    answered.thenRunAsync(
        () -> {
          warm.close();
          connectAfterWarmUp(loadProtocol, group);
        });
  }

  private void connectAfterWarmUp(LoadProtocol loadProtocol, EventLoopGroup group) {
    try {
      channels.add(loadProtocol.connect(group, role.remote(), session(clientHandler())));
    } catch (Exception e) {
      System.err.println("session after the warm-up: " + e);
    }
  }

  private ChannelHandler serverHandler() {
    return switch (mode) {
      case GAME -> gameServer.handler();
      case LANES -> new EntityServerHandler(game, kcp, roundTrips);
      case REQUESTS, WRITES, UPLOAD -> numberedServer();
      default -> new LoadServerHandler(stats);
    };
  }

  private ChannelHandler clientHandler() {
    return switch (mode) {
      case SINK, PING -> new LoadSender(LoadPayload.COUNTED, stats);
      case ECHO -> new LoadSender(LoadPayload.ECHOED, stats);
      case GAME -> gameClient();
      case LANES -> new EntityClient(game, kcp.hasLanes());
      case REQUESTS -> new RequestClient(game.messageBytes(), numbered, deliveries);
      case WRITES -> new WriteClient(game, deliveries);
      case UPLOAD -> new UploadClient(numbered.uploadBytes(), () -> {}, deliveries);
      case ARRIVALS -> throw new AssertionError(mode);
    };
  }

  private ChannelHandler numberedServer() {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        channel
            .pipeline()
            .addLast(new NumberedServerHandler(mode == Mode.UPLOAD, numbered, deliveries));
      }
    };
  }

  private ChannelHandler gameClient() {
    GameClient client = new GameClient(game, roundTrips);
    if (!kcp.hasLanes()) {
      return client;
    }
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        channel.pipeline().addLast(new OneLane(), client);
      }
    };
  }

  private LoadReport report() {
    return switch (mode) {
      case GAME, LANES -> roundTrips;
      case ARRIVALS -> arrivals;
      case REQUESTS, WRITES, UPLOAD -> deliveries;
      case SINK, ECHO, PING -> stats;
    };
  }

  /** Adds the handler, and registers the session to be closed at the end. */
  private ChannelHandler session(ChannelHandler handler) {
    return new ChannelInitializer<>() {
      @Override
      protected void initChannel(Channel channel) {
        channels.add(channel);
        channel.pipeline().addLast(handler);
      }
    };
  }
}
