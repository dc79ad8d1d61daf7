package io.kcp4j.examples;

import io.netty.channel.ChannelHandler;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.codec.FixedLengthFrameDecoder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
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
      LatencySamples rtt, long checkedBytes, long bytesUp, long retransmitted, double maxStallMs) {}

  private final GameTraffic traffic;
  private final RelayedServer server;
  private final List<GamePlayer> players = new ArrayList<>();
  private final List<EchoCheck> checks = new ArrayList<>();
  private final LatencySamples rtt = new LatencySamples();

  private long retransmittedBefore;

  /** Opens the server and the network. */
  GameRun(
      EventLoopGroup group,
      BootstrapSettings settings,
      LossyRelay.Conditions network,
      GameTraffic traffic)
      throws IOException, InterruptedException {
    this.traffic = traffic;
    server =
        new RelayedServer(group, settings, network, () -> new ChannelHandler[] {new EchoHandler()});
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
      server.connect(new FixedLengthFrameDecoder(GameTraffic.MESSAGE_BYTES), player, check);
      players.add(player);
      checks.add(check);
    }
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
    server.relay().startCounting();
    retransmittedBefore = server.retransmitted();
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
  LatencySamples rtt() {
    return rtt;
  }

  /** The figures up to now. */
  Figures figures() {
    return new Figures(
        rtt,
        checks.stream().mapToLong(EchoCheck::checkedBytes).sum(),
        server.relay().bytesToServer(),
        server.retransmitted() - retransmittedBefore,
        server.relay().maxStallMs());
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
