package io.kcp4j.examples;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.FixedLengthFrameDecoder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/** A game with one kind of settings: an echo server, its players, and the network between them. */
final class GameRun implements AutoCloseable {

  /**
   * What a run has shown.
   *
   * @param rtt the round-trip times of the measured messages
   * @param checkedBytes the bytes that were echoed correctly, those of unmeasured messages included
   * @param bytesUp the bytes of all packets from players to the server, since counting began
   * @param retransmitted the segments that either side sent again since counting began, second
   *     copies included
   * @param maxStallMs how late the network has delivered a packet since counting began, at most
   */
  record Figures(
      RttSamples rtt, long checkedBytes, long bytesUp, long retransmitted, double maxStallMs) {}

  private final EventLoopGroup group;
  private final BootstrapSettings settings;
  private final GameTraffic traffic;
  private final Channel server;
  private final LossyRelay relay;
  private final List<GamePlayer> players = new ArrayList<>();
  private final List<EchoCheck> checks = new ArrayList<>();
  private final RttSamples rtt = new RttSamples();

  /** Those of the players, and those that the server has accepted. */
  private final Queue<KcpChannel> sessions = new ConcurrentLinkedQueue<>();

  private long retransmittedBefore;

  /** Opens the server and the network. */
  GameRun(
      EventLoopGroup group,
      BootstrapSettings settings,
      LossyRelay.Conditions network,
      GameTraffic traffic)
      throws IOException, InterruptedException {
    this.group = group;
    this.settings = settings;
    this.traffic = traffic;
    server = listen();
    relay = new LossyRelay((InetSocketAddress) server.localAddress(), network);
  }

  private Channel listen() throws InterruptedException {
    ChannelInitializer<KcpChannel> echo =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(KcpChannel session) {
            sessions.add(session);
            session.pipeline().addLast(new EchoHandler());
          }
        };
    return settings
        .server(group)
        .childHandler(echo)
        .bind(InetAddress.getLoopbackAddress(), 0)
        .sync()
        .channel();
  }

  /**
   * Connects the players, one after the other: then the relay treats the packets of each as in
   * other runs.
   */
  void connect() throws InterruptedException {
    for (int i = 0; i < traffic.players(); i++) {
      SplittableRandom content = new SplittableRandom(traffic.seed() + i);
      EchoCheck check = new EchoCheck();
      GamePlayer player = new GamePlayer(traffic, content, check, rtt);
      sessions.add(connect(player, check));
      players.add(player);
      checks.add(check);
    }
  }

  private KcpChannel connect(GamePlayer player, EchoCheck check) throws InterruptedException {
    ChannelInitializer<KcpChannel> pipeline =
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(KcpChannel session) {
            session
                .pipeline()
                .addLast(new FixedLengthFrameDecoder(GameTraffic.MESSAGE_BYTES), player, check);
          }
        };
    return (KcpChannel)
        settings.client(group).handler(pipeline).connect(relay.address()).sync().channel();
  }

  /** Begins with the first tick after that delay, and spreads those of the players evenly. */
  void begin(long delayNs) {
    for (int i = 0; i < players.size(); i++) {
      GamePlayer player = players.get(i);
      long playerDelayNs = delayNs + i * GameTraffic.TICK_NS / players.size();
      player.channel().eventLoop().execute(() -> player.begin(playerDelayNs));
    }
  }

  /** Begins to count what is not counted message by message. */
  void startCounting() {
    relay.startCounting();
    retransmittedBefore = retransmitted();
  }

  /**
   * Waits until every byte has been echoed correctly, and throws the failure of a player otherwise.
   *
   * @return false if that has not happened at that time of {@link System#nanoTime}
   */
  boolean await(long deadlineNs) throws InterruptedException {
    for (EchoCheck check : checks) {
      if (!check.done().await(deadlineNs - System.nanoTime(), TimeUnit.NANOSECONDS)) {
        return false;
      }
      check.done().sync();
    }
    return true;
  }

  /** The round-trip times so far; for any thread. */
  RttSamples rtt() {
    return rtt;
  }

  /** The figures up to now. */
  Figures figures() {
    return new Figures(
        rtt,
        checks.stream().mapToLong(EchoCheck::checkedBytes).sum(),
        relay.bytesToServer(),
        retransmitted() - retransmittedBefore,
        relay.maxStallMs());
  }

  private long retransmitted() {
    long segments = 0;
    for (KcpChannel session : sessions) {
      KcpStats stats = SessionCommand.statsOf(session);
      segments += stats.get(KcpCounter.RETRANSMITTED) + stats.get(KcpCounter.COPIES_OUT);
    }
    return segments;
  }

  /** Closes without waiting for acknowledgements: both peers of each session close. */
  @Override
  public void close() throws IOException {
    for (KcpChannel session : sessions) {
      session.config().setOption(KcpChannelOption.LINGER, 0);
      session.close().awaitUninterruptibly();
    }
    server.close().awaitUninterruptibly();
    relay.close();
  }
}
