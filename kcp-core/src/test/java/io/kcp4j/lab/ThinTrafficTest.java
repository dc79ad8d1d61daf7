package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A client that sends one event in two seconds. In the first second the path is far slower than
 * later.
 */
class ThinTrafficTest {

  private static final int RTT_US = 40_000;
  private static final int SLOWER_BY_US = 300_000;
  private static final int SECOND_US = 1_000_000;
  private static final int EVENTS = 10_000;
  private static final Traffic TRAFFIC = new Traffic(1, 60, 0.5);

  /** Of 50 lost events, hardly one is lost again. */
  private static final double LOSS = 0.005;

  private final VirtualTime time = new VirtualTime();
  private final SplittableRandom random = new SplittableRandom(1);

  private LabLink link(int delayUs, double loss, LabPeer to) {
    LinkSettings settings = LinkSettings.delay(delayUs).withLoss(loss, 0);
    return new LabLink(time, random.split(), settings, to::received);
  }

  private static void failOnReply(LabSession session, ByteBuf data) {
    throw new AssertionError("received a reply where there is none");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void lostEventsAreLateByTwoRoundTrips(boolean isServerKcpGo) {
    LabSide side = LabSide.of(KcpConfig.builder().build(), FecConfig.NONE);
    LabPeer client = side.create(time, random.split());
    LabPeer server = (isServerKcpGo ? LabSide.kcpGo(10) : side).create(time, random.split());
    client.connect(link(RTT_US / 2 + SLOWER_BY_US, 0, server));
    server.connect(link(RTT_US / 2, 0, client));
    time.at(SECOND_US, () -> client.connect(link(RTT_US / 2, LOSS, server)));
    long endUs = TRAFFIC.tickAtUs(EVENTS);
    Payload payload = new Payload(random.split());
    MessageMeter meter = new MessageMeter(time, TRAFFIC, payload, 6 * SECOND_US);
    server.listen(conv -> meter);
    TickSender sender = new TickSender(time, TRAFFIC, payload, ThinTrafficTest::failOnReply, endUs);
    sender.start(client.open(1, sender));
    time.runUntil(endUs + 2 * SECOND_US);

    assertEquals(EVENTS, meter.messages());
    Latencies latencies = meter.latencies();
    assertTrue(latencies.quantileUs(1 - LOSS / 2) > RTT_US, "events are lost");
    long lateUs = latencies.quantileUs(1 - LOSS / 100) - RTT_US / 2;
    assertTrue(lateUs <= 2 * RTT_US + 60_000, "late by " + lateUs + " us");
  }
}
