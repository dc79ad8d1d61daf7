package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/**
 * Requests over a lossy path, and to a host that stops. {@link OutageTest} has paths that lose
 * everything.
 */
class RecoveryTest {

  private static final int RTT_US = 40_000;
  private static final int SECOND_US = 1_000_000;
  private static final int WARM_UP_US = 5 * SECOND_US;
  private static final int MESSAGE_BYTES = 100;

  private static final KcpConfig CONFIG = KcpConfig.builder().build();

  /** A client and a server, and the path between them. */
  private static final class World {

    private final VirtualTime time = new VirtualTime();
    private final SplittableRandom random = new SplittableRandom(1);
    private final KcpConfig config;
    private final FecConfig fec;
    private final LabHost client;
    private final LabHost server;
    private final RequestLoop loop;

    World(int requests, double loss) {
      this(requests, loss, CONFIG, FecConfig.NONE);
    }

    World(int requests, double loss, KcpConfig config, FecConfig fec) {
      this.config = config;
      this.fec = fec;
      client = host();
      server = host();
      loop = new RequestLoop(time, requests, MESSAGE_BYTES, new Payload(random.split()));
      server.listen(conv -> new EchoServer(MESSAGE_BYTES));
      client.connect(link(loss, server));
      server.connect(link(loss, client));
      loop.start(client.open(1, loop));
    }

    /** It has the extension, which says how long it delays ACKs. */
    private LabHost host() {
      return new LabHost(time, random.split(), config, fec)
          .withPeerMaxAckDelayMs(CONFIG.intervalMs());
    }

    private LabLink link(double loss, LabPeer to) {
      LinkSettings settings = LinkSettings.delay(RTT_US / 2).withLoss(loss, 0);
      return new LabLink(time, random.split(), settings, to::received);
    }

    long p99Us() {
      long[] latenciesUs =
          loop.replies(WARM_UP_US, 30 * SECOND_US).stream()
              .mapToLong(RequestLoop.Reply::latencyUs)
              .sorted()
              .toArray();
      return latenciesUs[latenciesUs.length * 99 / 100];
    }

    int replies(long fromUs, long toUs) {
      time.runUntil(toUs);
      return loop.replies(fromUs, toUs).size();
    }
  }

  /**
   * 36 KB are in flight: a loss in each direction is common, one of a retransmission must not be.
   */
  @Test
  void lossOfRetransmissionsDoesNotShowInTheTail() {
    World world = new World(360, 0.05);
    world.time.runUntil(30 * SECOND_US);
    assertTrue(world.p99Us() <= 3 * RTT_US + 20_000, "p99 of " + world.p99Us() + " us");
  }

  /** Retransmissions cost a round trip in each direction: three in all. */
  @Test
  void adaptiveFecRepairsBurstsOfRequestsInTime() {
    KcpConfig unpaced = CONFIG.toBuilder().congestionControl(CongestionControl.NONE).build();
    World world = new World(360, 0.02, unpaced, FecConfig.adaptive());
    world.time.runUntil(30 * SECOND_US);
    assertTrue(world.p99Us() <= RTT_US + 20_000, "p99 of " + world.p99Us() + " us");
  }

  /** Stops of 300 ms, of a server that answers 256 requests at a time. */
  @Test
  void stopsOfTheServerAreForgottenWithinASecond() {
    World world = new World(256, 0.02);
    for (int i = 0; i < 5; i++) {
      world.time.at(WARM_UP_US + i * SECOND_US, () -> world.server.stop(300_000));
    }
    long endUs = WARM_UP_US + 5 * SECOND_US;
    int before = world.replies(2 * SECOND_US, WARM_UP_US) / 3;
    int after = world.replies(endUs + SECOND_US, endUs + 11 * SECOND_US) / 10;
    assertEquals(before, after, before / 5.0);
  }
}
