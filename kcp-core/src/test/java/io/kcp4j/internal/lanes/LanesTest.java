package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages on reliable lanes between two sessions. */
class LanesTest {

  private final LanePair pair = LanePair.open();
  private final LanePair.Side client = pair.client;
  private final LanePair.Side server = pair.server;

  // Opening

  @Test
  void nothingButAByteLeavesBeforeThePeerHasShownThatItHasLanes() {
    LanePair closed = new LanePair();
    closed.server.lanes.open(1024, 4 << 20);
    closed.client.send(1, "a");
    closed.run(100);
    assertEquals(1, closed.client.datagrams);
    assertEquals(25, closed.client.bytes);
    assertFalse(closed.client.kcp.isDrained());
    closed.opened().run(20);
    assertEquals(List.of("1:a"), closed.server.received);
    closed.run(50);
    assertTrue(closed.client.kcp.isDrained());
  }

  @Test
  void laneThatEndsBeforeThePeerHasShownThatItHasLanesEndsThen() {
    LanePair closed = new LanePair();
    closed.server.lanes.open(1024, 4 << 20);
    closed.client.send(1, "a");
    closed.client.lanes.lane(1).abortOutput();
    closed.client.flush();
    closed.run(100);
    assertEquals(1, closed.client.datagrams);
    closed.opened().run(20);
    assertEquals(List.of("1:end"), closed.server.received);
  }

  @Test
  void serverFailsIfItsClientSendsAnythingElse() {
    LanePair other = new LanePair();
    other.client.lanes.open(1024, 4 << 20);
    other.run(20);
    other.client.send(1, "a");
    other.run(20);
    assertTrue(other.server.lanes.isUnsupported());
  }

  @Test
  void clientTakesNothingBeforeItKnowsThatItsServerHasLanes() {
    LanePair half = new LanePair();
    half.server.lanes.open(1024, 4 << 20);
    half.server.send(1, "a");
    half.run(20);
    assertFalse(half.client.lanes.isUnsupported());
    assertEquals(List.of(), half.client.received);
    half.client.lanes.open(1024, 4 << 20);
    half.run(500);
    assertEquals(List.of("1:a"), half.client.received);
  }

  @Test
  void messagesThatThePeerDoesNotTakeAreDroppedWhenItsLimitsAreKnown() {
    LanesConfig small = LanesConfig.builder().maxLanes(10).budgetBytes(10_000).build();
    LanePair pair = new LanePair(LanesConfig.DEFAULT, small);
    pair.client.send(9, "a").send(10, "b").send(3, 1_187).send(3, 1_186).send(3, "c");
    pair.opened().run(100);
    assertEquals(List.of("9:a", "3:1186 bytes", "3:c"), pair.server.received);
    assertEquals(
        List.of("b NO_SUCH_LANE", "3:1187 TOO_LARGE", "a sent", "3:1186 sent", "c sent"),
        pair.client.fates);
    assertThrows(IllegalArgumentException.class, () -> pair.client.send(10, "b"));
    assertThrows(IllegalArgumentException.class, () -> pair.client.send(3, 1_187));
    pair.assertNothingHeld();
  }

  @Test
  void unreliableMessagesOfLanesThatThePeerDoesNotHaveAreDroppedToo() {
    LanesConfig small = LanesConfig.builder().maxLanes(10).budgetBytes(10_000).build();
    LanePair pair = new LanePair(LanesConfig.DEFAULT, small);
    pair.client.lane(9, LaneKind.UNRELIABLE);
    pair.client.lane(10, LaneKind.UNRELIABLE_SEQUENCED);
    pair.client.send(9, "a").send(10, "b", "c");
    pair.client.lanes.lane(10).shutdownOutput();
    pair.opened().run(100);
    assertEquals(List.of("b NO_SUCH_LANE", "c NO_SUCH_LANE"), pair.client.fates);
    assertTrue(pair.client.lanes.hasUnreliable());
    assertEquals(List.of(), pair.server.received);
    assertEquals(0, pair.server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  /** The client has 10 lanes and the server 1,024: so only the client may send on lane 500. */
  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void laneThatOnlyOneSideHasCarriesMessagesOneWay(LaneKind kind) {
    LanesConfig small = LanesConfig.builder().maxLanes(10).budgetBytes(10_000).build();
    LanePair pair = new LanePair(small, LanesConfig.DEFAULT).opened();
    pair.client.lane(500, kind);
    pair.client.send(500, "a");
    pair.run(50);
    pair.server.lanes.lane(500).shutdownOutput();
    pair.server.lanes.lane(500).abortOutput();
    pair.server.flush();
    assertThrows(IllegalArgumentException.class, () -> pair.server.send(500, "b"));
    pair.client.lanes.lane(500).shutdownOutput();
    pair.client.flush();
    pair.run(50);
    pair.client.send(500, "c");
    pair.run(50);
    assertEquals(List.of("500:a", "500:end", "500:c"), pair.server.received);
    assertEquals(List.of(), pair.client.received);
    assertEquals(0, pair.client.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    assertTrue(pair.server.kcp.isDrained());
  }

  /** The end of a lane waits like its messages until the limits of the peer are known. */
  @Test
  void endOfALaneThatThePeerDoesNotHaveIsDropped() {
    LanesConfig small = LanesConfig.builder().maxLanes(10).budgetBytes(10_000).build();
    LanePair pair = new LanePair(LanesConfig.DEFAULT, small);
    pair.client.send(10, "a").send(11, "b");
    pair.client.lanes.lane(10).abortOutput();
    pair.client.lanes.lane(11).shutdownOutput();
    pair.opened().run(100);
    assertEquals(List.of("a LANE_CLOSED", "b NO_SUCH_LANE"), pair.client.fates);
    assertEquals(List.of(), pair.server.received);
    assertEquals(0, pair.server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    assertTrue(pair.client.kcp.isDrained());
  }

  // Order

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void messagesArriveOnceInBothDirections(LaneKind kind) {
    client.lane(1, kind);
    server.lane(1, kind);
    client.send(1, "a", "b", "");
    server.send(1, "c");
    pair.run(20);
    assertEquals(List.of("1:a", "1:b", "1:"), server.received);
    assertEquals(List.of("1:c"), client.received);
    assertEquals(List.of("a sent", "b sent", " sent"), client.fates);
    assertEquals(LanePair.DELAY_US, server.receivedAtUs.get(0));
    pair.run(100);
    assertTrue(client.kcp.isQuiescent());
    assertEquals(Time.NO_DEADLINE, client.kcp.nextDeadline());
    pair.assertNothingHeld();
  }

  @Test
  void smallMessagesShareASegment() {
    pair.run(100);
    int before = client.datagrams;
    IntStream.range(0, 20).forEach(i -> client.queue(client.lanes.lane(i), message(i), "" + i));
    client.flush();
    assertEquals(1, client.datagrams - before);
    assertEquals(1, client.kcp.stats().inFlight());
    pair.run(10);
    assertEquals(20, server.received.size());
  }

  private static ByteBuf message(int i) {
    return Unpooled.wrappedBuffer(new byte[] {(byte) ('a' + i)});
  }

  @Test
  void laneDoesNotWaitForTheLossOfAnother() {
    pair.run(100);
    int lost = client.datagrams;
    client.isLost = n -> n == lost;
    client.send(1, "a").send(2, "b").send(1, "c");
    pair.run(10);
    assertEquals(List.of("2:b"), server.received);
    pair.run(200);
    assertEquals(List.of("2:b", "1:a", "1:c"), server.received);
  }

  @Test
  void unorderedLaneDoesNotWaitForItsOwnLosses() {
    client.lane(1, LaneKind.RELIABLE_UNORDERED);
    pair.run(100);
    int lost = client.datagrams;
    client.isLost = n -> n == lost;
    client.send(1, "a").send(1, "b").send(1, "c");
    pair.run(10);
    assertEquals(List.of("1:b", "1:c"), server.received);
    pair.run(200);
    assertEquals(List.of("1:b", "1:c", "1:a"), server.received);
    pair.assertNothingHeld();
  }

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void numbersWrap(LaneKind kind) {
    client.lane(1, kind);
    for (int round = 0; round < 100; round++) {
      for (int i = 0; i < 700; i++) {
        client.queue(client.lanes.lane(1), Unpooled.buffer(), "");
      }
      client.flush();
      pair.run(30);
    }
    assertEquals(70_000, server.received.size());
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  /** A receiver resolves a number of one byte up to 127 beyond the message that is missing. */
  @Test
  void messagesFarBeyondOneThatWasLostKeepTheirNumbers() {
    int lost = client.datagrams;
    client.isLost = n -> n == lost;
    client.send(1, "first");
    for (int i = 0; i < 300; i++) {
      client.queue(client.lanes.lane(1), Unpooled.buffer(), "");
    }
    client.flush();
    pair.run(1_000);
    assertEquals(301, server.received.size());
    assertEquals("1:first", server.received.get(0));
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  // Fragments

  @ParameterizedTest
  @ValueSource(ints = {1_300, 1_371, 1_372, 1_373, 1_376, 1_377, 5_000, 100_000, 524_224})
  void messageOfAnySizeIsReassembled(int bytes) {
    client.send(1, bytes).send(1, "after");
    pair.run(2_000);
    assertEquals(List.of("1:" + bytes + " bytes", "1:after"), server.received);
    pair.assertNothingHeld();
  }

  @Test
  void messageThatIsTooLargeIsRefused() {
    Exception refusal = assertThrows(IllegalArgumentException.class, () -> client.send(1, 524_225));
    assertEquals("message: 524225 bytes (expected: <= 524224)", refusal.getMessage());
    pair.assertNothingHeld();
  }

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void fragmentsArriveInAnyOrderAndWithLosses(LaneKind kind) {
    SplittableRandom random = new SplittableRandom(3);
    client.isLost = n -> random.nextInt(5) == 0;
    server.isLost = n -> random.nextInt(5) == 0;
    for (int i = 1; i <= 3; i++) {
      client.lane(i, kind);
    }
    for (int i = 0; i < 60; i++) {
      client.send(1 + i % 3, 1 + random.nextInt(20_000));
      pair.run(5);
    }
    pair.run(20_000);
    assertEquals(60, server.received.size());
    if (kind == LaneKind.RELIABLE_ORDERED) {
      assertEquals(sizesSent(1), sizesReceived(1));
    }
    pair.assertNothingHeld();
  }

  private List<Integer> sizesSent(int lane) {
    String prefix = lane + ":";
    return client.fates.stream()
        .filter(fate -> fate.startsWith(prefix))
        .map(fate -> Integer.valueOf(fate.substring(2, fate.indexOf(' '))))
        .toList();
  }

  private List<Integer> sizesReceived(int lane) {
    return IntStream.range(0, server.received.size())
        .filter(i -> server.received.get(i).startsWith(lane + ":"))
        .mapToObj(server.sizes::get)
        .toList();
  }

  @Test
  void smallMessageBehindALargeOneOnAnotherLaneDoesNotWaitForAllOfIt() {
    client.lanes.lane(2).config(LaneConfig.DEFAULT.withPriority(0));
    client.send(3, "first"); // The peer's window is known afterwards.
    pair.run(100);
    server.received.clear();
    client.send(1, 500_000);
    client.send(2, "small");
    pair.run(12);
    assertEquals("2:small", server.received.get(0));
  }
}
