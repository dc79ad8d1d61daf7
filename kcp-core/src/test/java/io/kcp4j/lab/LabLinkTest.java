package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Links delay, lose, reorder and limit exactly as their settings say. */
class LabLinkTest {

  private static final int MS = 1_000;

  private static final int SECOND = 1_000_000;

  /** Standard deviations within which statistical results must be; the seeds are fixed. */
  private static final int TOLERANCE = 4;

  private final VirtualTime time = new VirtualTime();
  private final List<Long> arrivals = new ArrayList<>();
  private final List<Integer> order = new ArrayList<>();

  @Test
  void delayIsExact() {
    LabLink link = link(LinkSettings.delay(10_001));
    time.runUntil(7);
    send(link, 100);
    time.runUntil(SECOND);
    assertEquals(List.of(10_008L), arrivals);
  }

  @Test
  void everyDatagramDrawsItsDelaySoThatJitterReorders() {
    LabLink link = link(LinkSettings.delay(10 * MS).withJitter(MS));
    int datagrams = 10_000;
    for (int i = 0; i < datagrams; i++) {
      send(link, 100);
    }
    time.runUntil(10 * MS - 1);
    assertEquals(List.of(), arrivals);
    time.runUntil(11 * MS);
    assertEquals(datagrams, arrivals.size());
    double mean = arrivals.stream().mapToLong(Long::longValue).average().orElseThrow();
    double deviation = MS / Math.sqrt(12.0 * datagrams);
    assertEquals(10.5 * MS, mean, TOLERANCE * deviation);
    assertTrue(link.reordered() > datagrams / 2, "reordered: " + link.reordered());
    assertTrue(order.get(0) > 0 || order.get(1) > 1, order.subList(0, 2).toString());
  }

  @Test
  void withoutJitterTheOrderStays() {
    LabLink link = link(LinkSettings.delay(10 * MS));
    for (int i = 0; i < 100; i++) {
      send(link, 100);
    }
    time.runUntil(SECOND);
    assertEquals(0, link.reordered());
    assertEquals(order.stream().sorted().toList(), order);
  }

  @Test
  void independentLossHasItsMean() {
    for (double loss : new double[] {0.001, 0.005, 0.05, 0.1}) {
      LabLink link = link(LinkSettings.delay(0).withLoss(loss, 0));
      int datagrams = 200_000;
      for (int i = 0; i < datagrams; i++) {
        send(link, 100);
        time.runUntil(time.nowUs() + 1);
      }
      double deviation = Math.sqrt(datagrams * loss * (1 - loss));
      assertEquals(datagrams * loss, (double) link.lost(), TOLERANCE * deviation);
    }
  }

  @Test
  void burstsHaveTheirMeanLengthAndShareOfTime() {
    double burstUs = 3 * MS;
    double loss = 0.05;
    LossModel model = LossModel.gilbert(loss, burstUs, new SplittableRandom(1));
    int stepUs = 50;
    int steps = 10_000_000;
    long lost = 0;
    int bursts = 0;
    boolean before = false;
    for (long i = 0; i < steps; i++) {
      boolean loses = model.loses(i * stepUs);
      lost += loses ? 1 : 0;
      bursts += loses && !before ? 1 : 0;
      before = loses;
    }
    double relativeDeviation = Math.sqrt(2.0 / bursts);
    assertEquals(loss, (double) lost / steps, TOLERANCE * relativeDeviation * loss);
    double meanUs = (double) lost * stepUs / bursts;
    assertEquals(burstUs, meanUs, TOLERANCE * burstUs / Math.sqrt(bursts) + stepUs);
  }

  @Test
  void rateLimitDeliversExactlyItsRate() {
    int bytes = 1000 - LabLink.HEADER_BYTES;
    LabLink link = link(LinkSettings.delay(0).withRate(8_000_000, 100_000));
    for (int i = 0; i < 100; i++) {
      send(link, bytes);
    }
    time.runUntil(SECOND);
    List<Long> expected = new ArrayList<>();
    for (long i = 1; i <= 100; i++) {
      expected.add(i * MS);
    }
    assertEquals(expected, arrivals);
    assertEquals(0, link.dropped());
  }

  @Test
  void fullQueueDropsTheNewest() {
    int bytes = 1000 - LabLink.HEADER_BYTES;
    LabLink link = link(LinkSettings.delay(0).withRate(8_000_000, 10_000));
    for (int i = 0; i < 12; i++) {
      send(link, bytes);
    }
    assertEquals(2, link.dropped());
    time.runUntil(MS - 1);
    send(link, bytes);
    assertEquals(3, link.dropped());
    time.runUntil(MS);
    send(link, bytes);
    assertEquals(3, link.dropped());
    time.runUntil(SECOND);
    assertEquals(11, arrivals.size());
    assertEquals(13, order.get(10));
  }

  private LabLink link(LinkSettings settings) {
    return new LabLink(
        time,
        new SplittableRandom(1),
        settings,
        packet -> {
          arrivals.add(time.nowUs());
          order.add(Segment.sn(packet, packet.readerIndex()));
        });
  }

  /** Sends a PUSH with the number of the datagram. */
  private void send(LabLink link, int bytes) {
    int sn = (int) link.datagrams();
    int payload = bytes - Segment.HEADER_BYTES;
    ByteBuf datagram = link.begin(bytes);
    Segment.write(datagram, 1, Segment.PUSH, 0, 100, 0, sn, 0, payload);
    datagram.writeZero(payload);
    link.end();
  }
}
