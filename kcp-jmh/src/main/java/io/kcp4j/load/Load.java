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
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
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
 * library, and answers each line {@code mark}, as {@link Marks} tells.
 */
@Command(
    name = "load",
    mixinStandardHelpOptions = true,
    versionProvider = Load.Versions.class,
    description = "One side of a transfer that another process measures.")
public final class Load implements Callable<Integer> {

  /** What a client does. */
  enum Mode {
    /** Sends as fast as it can. */
    SINK,
    /** Sends what is to be echoed, as fast as it can. */
    ECHO,
    /** SINK, and small echoed messages in a second session. */
    PING
  }

  private enum Protocol {
    KCP,
    TCP,
    QUIC
  }

  private static final class Role {
    @Option(
        names = "--listen",
        required = true,
        paramLabel = "HOST:PORT",
        description = "Be a server; port 0 takes a free one.")
    private InetSocketAddress local;

    @Option(
        names = "--remote",
        required = true,
        paramLabel = "HOST:PORT",
        description = "Be a client of this server.")
    private InetSocketAddress remote;
  }

  /** Of the JVM and the libraries, on one line. */
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
  private Role role;

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

  @Mixin private KcpTransport kcp;

  private final BufferedReader in;
  private final PrintStream out;
  private final Marks marks = new Marks();
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
        .registerConverter(InetSocketAddress.class, Load::address)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .execute(args);
  }

  private static InetSocketAddress address(String hostPort) {
    int colon = hostPort.lastIndexOf(':');
    return new InetSocketAddress(
        hostPort.substring(0, colon), Integer.parseInt(hostPort.substring(colon + 1)));
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
      marks.answer(in, out);
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

  private LoadProtocol transport() {
    return switch (protocol) {
      case KCP -> kcp;
      case TCP -> new TcpTransport();
      case QUIC -> new QuicTransport();
    };
  }

  private void start(EventLoopGroup group) throws Exception {
    LoadProtocol transport = transport();
    if (role.local != null) {
      Channel server = transport.listen(group, role.local, session(new Answerer(marks)));
      channels.add(server);
      InetSocketAddress bound = (InetSocketAddress) server.localAddress();
      out.println("listening " + bound.getAddress().getHostAddress() + ":" + bound.getPort());
      return;
    }
    Payload payload = mode == Mode.ECHO ? Payload.ECHOED : Payload.COUNTED;
    channels.add(transport.connect(group, role.remote, session(new Saturator(payload, marks))));
    if (mode == Mode.PING) {
      channels.add(transport.connect(group, role.remote, session(new LoadPinger(marks))));
    }
  }

  /** Adds the handler, and sees to it that the session is closed in the end. */
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
