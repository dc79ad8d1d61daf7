package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lab.RequestLoop.Reply;
import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Requests over a path that loses everything for some time, or to a host that stops. */
class RecoveryTest {

  private static final int RTT_US = 40_000;
  private static final int SECOND_US = 1_000_000;
  private static final int WARM_UP_US = 5 * SECOND_US;
  private static final int MESSAGE_BYTES = 100;

  /** Two probe timeouts of the path, delays of ACKs included. */
  private static final int LEAST_PROBE_DISTANCE_US = 150_000;

  private static final KcpConfig CONFIG = KcpConfig.builder().build();

  /** Which directions an outage concerns. */
  private enum Direction {
    REQUESTS,
    REPLIES,
    BOTH
  }

  /** A client and a server, and the path between them. */
  private static final class World {

    private final VirtualTime time = new VirtualTime();
    private final SplittableRandom random;
    private final LabHost client;
    private final LabPeer server;
    private final RequestLoop loop;
    private final long outageFromUs;
    private long outageToUs;

    World(boolean isServerKcpGo, int requests, long seed) {
      random = new SplittableRandom(seed);
      client = host();
      server = isServerKcpGo ? LabSide.kcpGo(10).create(time, random.split()) : serverOfClient();
      loop = new RequestLoop(time, requests, MESSAGE_BYTES, new Payload(random.split()));
      server.listen(conv -> new EchoServer(MESSAGE_BYTES));
      outageFromUs = (long) WARM_UP_US + random.nextInt(SECOND_US);
    }

    private LabHost host() {
      return new LabHost(time, random.split(), CONFIG, FecConfig.NONE);
    }

    /** Both have the extension, which says how long they delay ACKs. */
    private LabHost serverOfClient() {
      client.withPeerMaxAckDelayMs(CONFIG.intervalMs());
      return host().withPeerMaxAckDelayMs(CONFIG.intervalMs());
    }

    void connect(Direction direction, int outageSeconds, double loss) {
      outageToUs = outageFromUs + (long) outageSeconds * SECOND_US;
      client.connect(link(direction != Direction.REPLIES, loss, server));
      server.connect(link(direction != Direction.REQUESTS, loss, client));
      loop.start(client.open(1, loop));
    }

    private LabLink link(boolean hasOutage, double loss, LabPeer to) {
      LinkSettings settings = LinkSettings.delay(RTT_US / 2).withLoss(loss, 0);
      LossModel model = settings.lossModel(random.split());
      LossModel blackout = hasOutage ? LossModel.blackout(model, outageFromUs, outageToUs) : model;
      Bottleneck bottleneck = Bottleneck.of(settings);
      return new LabLink(time, random.split(), settings, blackout, bottleneck, to::received);
    }

    List<Reply> replies(long fromUs, long toUs) {
      time.runUntil(toUs);
      return loop.replies(fromUs, toUs);
    }
  }

  /** How long after the end of an outage the first reply arrives. */
  private static long firstReplyUs(
      boolean isServerKcpGo, Direction direction, int outageSeconds, long seed) {
    World world = new World(isServerKcpGo, 1, seed);
    world.connect(direction, outageSeconds, 0);
    List<Reply> replies = world.replies(world.outageToUs, world.outageToUs + 4 * SECOND_US);
    assertTrue(replies.size() > 20, "replies: " + replies.size());
    return replies.get(0).atUs() - world.outageToUs;
  }

  private static void assertOnTime(boolean isServerKcpGo, int outageSeconds, int seeds) {
    int distanceUs =
        Math.max(LEAST_PROBE_DISTANCE_US, Math.min(outageSeconds * SECOND_US / 16, SECOND_US));
    for (Direction direction : Direction.values()) {
      List<Long> delaysUs = new ArrayList<>();
      for (long seed = 1; seed <= seeds; seed++) {
        delaysUs.add(firstReplyUs(isServerKcpGo, direction, outageSeconds, seed));
      }
      Collections.sort(delaysUs);
      long p95Us = delaysUs.get((seeds * 95 + 99) / 100 - 1);
      assertTrue(p95Us <= distanceUs + 2 * RTT_US, direction + ": " + delaysUs);
    }
  }

  @ParameterizedTest
  @CsvSource({"false, 1", "false, 5", "false, 27", "true, 5", "true, 27"})
  void firstReplyFollowsTheEndOfAnOutage(boolean isServerKcpGo, int outageSeconds) {
    assertOnTime(isServerKcpGo, outageSeconds, 3);
  }

  @ParameterizedTest
  @CsvSource({
    "false, 1",
    "false, 5",
    "false, 20",
    "false, 27",
    "true, 1",
    "true, 5",
    "true, 20",
    "true, 27"
  })
  @Tag("slow")
  void firstReplyFollowsTheEndOfAnOutageInManyRuns(boolean isServerKcpGo, int outageSeconds) {
    assertOnTime(isServerKcpGo, outageSeconds, 50);
  }

  /** Stops of 300 ms, of a server that answers 256 requests at a time. */
  @Test
  void stopsOfTheServerAreForgottenWithinASecond() {
    World world = new World(false, 256, 1);
    world.connect(Direction.BOTH, 0, 0.02);
    LabHost server = (LabHost) world.server;
    for (int i = 0; i < 5; i++) {
      world.time.at(WARM_UP_US + i * SECOND_US, () -> server.stop(300_000));
    }
    long endUs = WARM_UP_US + 5 * SECOND_US;
    int before = world.replies(2 * SECOND_US, WARM_UP_US).size() / 3;
    int after = world.replies(endUs + SECOND_US, endUs + 11 * SECOND_US).size() / 10;
    assertEquals(before, after, before / 5.0);
  }
}
