package io.kcp4j.examples;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.kcp4j.CloseReason;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.netty.AcceptFilter;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * One process of the pairs whose endings {@link EndingsTest} measures: a server or a client of one
 * carrier. It takes commands from its standard input, and writes a line for each event: the time of
 * {@code System.nanoTime()}, which processes of a Linux machine share, and what has happened.
 */
final class EndingPeer {

  private static final byte[] SECRET =
      "a secret of the server's host".getBytes(StandardCharsets.UTF_8);

  private final EndingCarrier carrier;
  private final Set<EndingSetting> settings;
  private final EventLoopGroup group;
  private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

  /** The session that began last. Used on the event loop only, as is the number of sessions. */
  private EndingTraffic newest;

  private int sessions;

  private EndingPeer(EndingCarrier carrier, Set<EndingSetting> settings) {
    this.carrier = carrier;
    this.settings = settings;
    group = carrier.newGroup();
    CleanExit.closeOnExit(channels);
  }

  static void report(String event) {
    System.out.println(System.nanoTime() + " " + event);
  }

  private void listen(InetSocketAddress local) throws InterruptedException {
    ServerBootstrap server = new ServerBootstrap().group(group);
    carrier.apply(server);
    server.childOption(ChannelOption.ALLOW_HALF_CLOSURE, true);
    if (carrier != EndingCarrier.TCP) {
      settings.forEach(setting -> apply(setting, server));
    }
    ChannelHandler application = carrier.initializer(false, this::newTraffic);
    server.childHandler(
        new ChannelInitializer<Channel>() {
          @Override
          protected void initChannel(Channel session) {
            if (isRefusedByApplication()) {
              session.pipeline().addLast(new Refusal());
            } else {
              channels.add(session);
              session.pipeline().addLast(application);
            }
          }
        });
    Channel listening = server.bind(local).sync().channel();
    report("listening " + ((InetSocketAddress) listening.localAddress()).getPort());
  }

  private static void apply(EndingSetting setting, ServerBootstrap server) {
    switch (setting) {
      case RECIPE -> DeadPeerDetection.apply(server);
      case SECRET -> server.option(KcpServerChannelOption.RESET_SECRET, SECRET);
      case KEY -> server.option(KcpChannelOption.KEY_RING, keys());
      case FULL -> server.option(KcpServerChannelOption.MAX_SESSIONS, 1);
      case BAN -> server.option(KcpServerChannelOption.ACCEPT_FILTER, new Ban());
      case CLIENT -> throw new IllegalArgumentException("a server");
    }
  }

  /** TCP has no refusal after SYN: its server can only accept and close. */
  private boolean isRefusedByApplication() {
    boolean isFull = settings.contains(EndingSetting.FULL) && !channels.isEmpty();
    return carrier == EndingCarrier.TCP && (isFull || settings.contains(EndingSetting.BAN));
  }

  /** Closes what has become active. */
  private static final class Refusal extends ChannelInboundHandlerAdapter {
    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      ctx.close();
    }
  }

  private static KeyRing keys() {
    return KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "a long secret"));
  }

  private void connect(InetSocketAddress remote) {
    Bootstrap client = new Bootstrap().group(group);
    carrier.apply(client);
    client.option(ChannelOption.ALLOW_HALF_CLOSURE, true);
    if (settings.contains(EndingSetting.RECIPE) && carrier != EndingCarrier.TCP) {
      DeadPeerDetection.apply(client);
    }
    if (settings.contains(EndingSetting.KEY) && carrier != EndingCarrier.TCP) {
      client.option(KcpChannelOption.KEY_RING, keys());
    }
    client.handler(carrier.initializer(true, this::newTraffic));
    report("connect");
    client
        .connect(remote)
        .addListener(
            (ChannelFutureListener)
                connected -> {
                  if (connected.isSuccess()) {
                    channels.add(connected.channel());
                    carrier.open(connected.channel(), this::newTraffic);
                  } else {
                    report("not-connected " + connected.cause());
                  }
                });
  }

  private EndingTraffic newTraffic() {
    boolean isClient = settings.contains(EndingSetting.CLIENT);
    newest = new EndingTraffic(sessions++, isClient);
    return newest;
  }

  private void run(String command, int argument, InetSocketAddress remote) {
    switch (command) {
      case "connect" -> connect(remote);
      case "end-group" -> {
        report(command);
        group.shutdownGracefully(0, 0, SECONDS);
      }
      case "exit" -> {
        report(command);
        System.exit(0);
      }
      default -> group.next().execute(() -> newest.run(command, argument));
    }
  }

  /** A peer that is refused. */
  private static final class Ban implements AcceptFilter {
    @Override
    public boolean accepts(InetSocketAddress remote, int conv) {
      return false;
    }

    @Override
    public CloseReason refusal(InetSocketAddress remote, int conv) {
      return new CloseReason(403, "banned");
    }
  }

  /** Arguments: carrier, host, port, settings. Runs until its standard input ends. */
  public static void main(String[] args) throws Exception {
    Set<EndingSetting> settings = EndingSetting.parse(args[3]);
    EndingPeer peer = new EndingPeer(EndingCarrier.valueOf(args[0]), settings);
    InetSocketAddress address =
        new InetSocketAddress(InetAddress.getByName(args[1]), Integer.parseInt(args[2]));
    if (!settings.contains(EndingSetting.CLIENT)) {
      peer.listen(address);
    }
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String[] words = line.split(" ", -1);
      peer.run(words[0], words.length > 1 ? Integer.parseInt(words[1]) : 0, address);
    }
    Runtime.getRuntime().halt(0);
  }
}
