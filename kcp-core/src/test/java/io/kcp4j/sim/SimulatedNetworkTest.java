package io.kcp4j.sim;

import static io.kcp4j.sim.VirtualTime.US_PER_MS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SimulatedNetworkTest {

  private static final int DATAGRAMS = 10_000;

  private record Received(long atUs, int number, int length) {}

  private final VirtualTime time = new VirtualTime();
  private final SimulatedNetwork network = new SimulatedNetwork(time, new SplittableRandom(1));
  private final List<Received> received = new ArrayList<>();

  @Test
  void aCleanLinkOnlyDelays() {
    sendAll(LinkProfile.clean(25));
    assertEquals(DATAGRAMS, received.size());
    for (int i = 0; i < DATAGRAMS; i++) {
      assertEquals(new Received((i + 25) * US_PER_MS, i, 100), received.get(i));
    }
  }

  @Test
  void randomLossLosesItsShare() {
    sendAll(new LinkProfile(1, 0, 0.2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    assertEquals(DATAGRAMS, received.size() + count(Fault.LOST));
    assertNear(2000, count(Fault.LOST));
  }

  @Test
  void burstLossesAreConsecutive() {
    sendAll(new LinkProfile(1, 0, 0, 0.01, 0.1, 0, 0, 0, 0, 0, 0, 0, 0));
    long lost = count(Fault.LOST_IN_BURST);
    assertEquals(DATAGRAMS, received.size() + lost);
    long gaps = 0;
    for (int i = 1; i < received.size(); i++) {
      gaps += received.get(i).number > received.get(i - 1).number + 1 ? 1 : 0;
    }
    assertTrue(lost > 3 * gaps, lost + " lost in " + gaps + " gaps");
  }

  @Test
  void jitterAloneKeepsTheOrder() {
    sendAll(new LinkProfile(5, 50, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0));
    assertEquals(inOrder(), received);
    assertEquals(0, count(Fault.REORDERED));
  }

  @Test
  void delayedDatagramsAreReordered() {
    sendAll(LinkProfile.reordering(5, 0.1, 30));
    assertEquals(DATAGRAMS, received.size());
    assertTrue(count(Fault.REORDERED) > 100);
    assertNotEquals(inOrder(), received);
  }

  @Test
  void duplicatesArriveTwice() {
    sendAll(new LinkProfile(5, 0, 0, 0, 1, 0.1, 0, 0, 0, 0, 0, 0, 0));
    assertEquals(DATAGRAMS + count(Fault.DUPLICATED), received.size());
    assertNear(1100, count(Fault.DUPLICATED));
  }

  @Test
  void flippedBitsAreDetectedByTheChecksum() {
    sendAll(new LinkProfile(5, 0, 0, 0, 1, 0, 0, 0, 0.1, 0, 0, 0, 0));
    assertEquals(DATAGRAMS, received.size() + count(Fault.CORRUPTED));
    assertNear(1000, count(Fault.CORRUPTED));
  }

  @Test
  void truncatedAndPaddedDatagramsArriveAsTheyAre() {
    sendAll(new LinkProfile(5, 0, 0, 0, 1, 0, 0, 0, 0, 0.1, 0.1, 0, 0));
    assertEquals(count(Fault.TRUNCATED), received.stream().filter(a -> a.length < 100).count());
    assertEquals(count(Fault.PADDED), received.stream().filter(a -> a.length > 100).count());
    assertTrue(count(Fault.TRUNCATED) > 0 && count(Fault.PADDED) > 0);
  }

  @Test
  void theRateLimitDelaysAndItsFullQueueDrops() {
    // 100 bytes a millisecond are sent, 50 pass, and 20 datagrams can wait.
    sendAll(new LinkProfile(5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 50_000, 1000));
    assertEquals(DATAGRAMS, received.size() + count(Fault.QUEUE_FULL));
    assertNear(DATAGRAMS / 2, received.size());
    assertTrue(count(Fault.QUEUED) > 1000);
    assertEquals(inOrder(), received);
  }

  @Test
  void nothingPassesAPartitionUntilItHeals() {
    time.afterMs(999, () -> network.partition(1000));
    sendAll(LinkProfile.clean(5));
    assertEquals(1000, count(Fault.LOST_IN_PARTITION));
    assertEquals(DATAGRAMS - 1000, received.size());
  }

  @Test
  void eventsOfOneTimeRunInTheOrderInWhichTheyWereMade() {
    List<Integer> order = new ArrayList<>();
    time.at(5, () -> order.add(2));
    time.at(3, () -> order.add(0));
    time.at(5, () -> order.add(3));
    time.at(3, () -> time.after(0, () -> order.add(1)));
    time.runUntil(10);
    assertEquals(List.of(0, 1, 2, 3), order);
    assertEquals(10, time.nowUs());
  }

  private void sendAll(LinkProfile profile) {
    SimulatedLink link = network.connect(profile, bytes -> received.add(arrival(bytes)));
    for (int i = 0; i < DATAGRAMS; i++) {
      byte[] datagram = new byte[100];
      datagram[0] = (byte) (i >> 8);
      datagram[1] = (byte) i;
      time.at(i * US_PER_MS, () -> link.send(datagram));
    }
    time.runUntil(Long.MAX_VALUE);
  }

  private Received arrival(byte[] bytes) {
    int number = bytes.length < 2 ? -1 : ((bytes[0] & 0xff) << 8) | (bytes[1] & 0xff);
    return new Received(time.nowUs(), number, bytes.length);
  }

  private static void assertNear(long expected, long actual) {
    assertTrue(Math.abs(actual - expected) < 150, actual + " is not near " + expected);
  }

  private List<Received> inOrder() {
    List<Received> sorted = new ArrayList<>(received);
    sorted.sort((a, b) -> Integer.compare(a.number, b.number));
    return Collections.unmodifiableList(sorted);
  }

  private long count(Fault fault) {
    return network.faults().get(fault);
  }
}
