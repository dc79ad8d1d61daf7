package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.SinkAccess;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How lanes end, in each direction, and begin again. */
class LaneEndTest {

  private final LanePair pair = LanePair.open();
  private final LanePair.Side client = pair.client;
  private final LanePair.Side server = pair.server;

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void endFollowsWhatWasSent(LaneKind kind) {
    Lane lane = client.lane(1, kind);
    client.send(1, "a").send(1, 3_000);
    lane.shutdownOutput();
    lane.shutdownOutput();
    assertFalse(lane.isOutputOpen());
    client.flush();
    pair.run(500);
    assertEquals(List.of("1:a", "1:3000 bytes", "1:end"), server.received);
    assertTrue(lane.isOutputOpen(), "read by the peer");
    assertTrue(client.kcp.isDrained());
    pair.assertNothingHeld();
  }

  @Test
  void endedLaneTakesNothingUntilThePeerHasReadTheEnd() {
    server.isRead = lane -> false;
    Lane lane = client.lanes.lane(1);
    client.send(1, "a");
    lane.shutdownOutput();
    client.flush();
    pair.run(500);
    assertEquals(
        "lane 1: ended (expected: open, or read by the peer)",
        assertThrows(IllegalStateException.class, () -> client.send(1, "b")).getMessage());
    server.resumeReading();
    pair.run(100);
    assertEquals(List.of("1:a", "1:end"), server.received);
    client.send(1, "b");
    pair.run(100);
    assertEquals(List.of("1:a", "1:end", "1:b"), server.received);
  }

  @Test
  void laneThatBeganAgainMayHaveAnotherKind() {
    for (int i = 0; i < 20; i++) {
      LaneKind kind = i % 2 == 0 ? LaneKind.RELIABLE_ORDERED : LaneKind.RELIABLE_UNORDERED;
      Lane lane = client.lane(1, kind);
      client.send(1, "a" + i);
      assertThrows(
          IllegalStateException.class, () -> lane.config(LaneConfig.of(LaneKind.UNRELIABLE)));
      lane.shutdownOutput();
      client.flush();
      pair.run(200);
      assertEquals(2 * i + 2, server.received.size());
      assertEquals("1:a" + i, server.received.get(2 * i));
      assertNull(server.lanes.lane(1).inputKind());
    }
    pair.assertNothingHeld();
  }

  @Test
  void endThatArrivesBeforeMessagesWaitsForThem() {
    pair.run(100);
    int lost = client.datagrams;
    client.isLost = n -> n == lost;
    client.send(1, "a");
    client.lanes.lane(1).shutdownOutput();
    client.flush();
    pair.run(10);
    assertEquals(List.of(), server.received);
    pair.run(500);
    assertEquals(List.of("1:a", "1:end"), server.received);
  }

  @Test
  void directionsEndIndependently() {
    client.send(1, "a");
    pair.run(50);
    client.lanes.lane(1).shutdownOutput();
    client.flush();
    pair.run(50);
    server.send(1, "b");
    pair.run(50);
    assertEquals(List.of("1:b"), client.received);
    server.lanes.lane(1).shutdownOutput();
    server.flush();
    pair.run(50);
    assertEquals(List.of("1:b", "1:end"), client.received);
  }

  @Test
  void unusedLaneEndsWithoutAWord() {
    client.lanes.lane(1).shutdownOutput();
    client.lanes.lane(1).abortOutput();
    client.flush();
    pair.run(100);
    assertEquals(List.of(), server.received);
    assertTrue(client.lanes.lane(1).isOutputOpen());
  }

  @Test
  void laneThatOnlyThePeerHasUsedEndsInBothDirections() {
    client.send(1, "a");
    pair.run(50);
    server.lanes.lane(1).shutdownOutput();
    server.flush();
    pair.run(50);
    assertEquals(List.of("1:end"), client.received);
  }

  // Aborts

  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void abortDropsWhatWaitsAndTheMessageOfWhichAPartHasLeft(LaneKind kind) {
    SplittableRandom random = new SplittableRandom(2);
    client.isLost = n -> random.nextInt(4) == 0;
    server.isLost = n -> random.nextInt(4) == 0;
    for (int i = 0; i < 30; i++) {
      Lane lane = client.lane(1, kind);
      client.send(1, 10).send(1, 200_000 + i).send(1, 20);
      pair.run(random.nextInt(20));
      lane.abortOutput();
      client.flush();
      pair.run(10_000);
      assertEquals("1:end", server.received.get(server.received.size() - 1));
      assertEquals(0, lane.queuedBytes());
      assertEquals(server.lanes.lane(1).unreported(), lane.outstanding());
      assertTrue(client.kcp.isDrained());
    }
    assertTrue(client.fates.contains("1:20 LANE_CLOSED"));
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  @Test
  void abortLeavesOtherLanesAlone() {
    client.send(1, 100_000).send(2, 100_000);
    pair.run(5);
    client.lanes.lane(1).abortOutput();
    client.flush();
    pair.run(2_000);
    assertEquals(List.of("1:end", "2:100000 bytes"), server.received.stream().sorted().toList());
  }

  // Stops

  @Test
  void laneWhoseInputIsDiscardedIsEndedByThePeer() {
    client.send(1, 100_000).send(1, 100_000).send(2, 1_000);
    pair.run(15);
    server.lanes.lane(1).discardInput();
    server.flush();
    pair.run(2_000);
    assertEquals(List.of("2:1000 bytes"), server.received);
    assertTrue(client.lanes.lane(1).isOutputOpen(), "ended, and read");
    assertEquals(0, client.lanes.lane(1).queuedBytes());
    assertEquals(server.lanes.lane(1).unreported(), client.lanes.lane(1).outstanding());
    assertTrue(client.kcp.isDrained());
    client.send(1, "again");
    pair.run(100);
    assertTrue(server.received.contains("1:again"), server.received.toString());
    pair.assertNothingHeld();
  }

  /** What waits behind the end that was asked for is dropped, too. */
  @Test
  void stopOfALaneThatIsEndingIsReported() {
    Lane lane = client.lanes.lane(1);
    client.send(1, 100_000).send(1, 400_000).send(1, 400_000).send(1, 500_000);
    lane.shutdownOutput();
    pair.run(15);
    assertTrue(lane.queuedBytes() > 0, "something waits");
    server.lanes.lane(1).discardInput();
    server.flush();
    pair.run(12);
    assertTrue(lane.takeOutputStop());
    assertEquals(0, lane.queuedBytes());
    pair.run(2_000);
    assertFalse(lane.takeOutputStop());
    assertTrue(client.fates.contains("1:500000 LANE_CLOSED"), client.fates.toString());
  }

  /** A STOP that arrives when the lane has begun again is not for what is sent now. */
  @Test
  void stopOfWhatHasEndedDoesNotEndWhatFollows() {
    client.send(1, "a");
    pair.run(50);
    int lost = server.datagrams;
    server.isLost = n -> n == lost;
    client.lanes.lane(1).shutdownOutput();
    client.flush();
    pair.run(5);
    server.lanes.lane(1).discardInput(); // The STOP is lost, and comes later.
    server.flush();
    pair.run(26);
    assertTrue(client.lanes.lane(1).isOutputOpen(), "its end was read");
    client.send(1, "b");
    pair.run(1_000);
    assertFalse(client.lanes.lane(1).takeOutputStop());
    client.send(1, "c");
    pair.run(100);
    assertTrue(server.received.containsAll(List.of("1:b", "1:c")), server.received.toString());
  }

  /** A lane that was closed before its peer has answered. */
  @Test
  void whatArrivesFirstOnADiscardedLaneIsStopped() {
    client.send(1, "a");
    pair.run(50);
    client.lanes.lane(1).shutdownOutput();
    client.lanes.lane(1).discardInput();
    client.flush();
    pair.run(50);
    assertTrue(client.lanes.lane(1).isInputDiscarded());
    assertFalse(client.lanes.lane(1).isUnused());
    server.send(1, "b").send(1, "c");
    pair.run(100);
    assertEquals(List.of(), client.received);
    assertTrue(server.lanes.lane(1).takeOutputStop());
    assertTrue(server.lanes.lane(1).isOutputOpen(), "ended, and read");
    assertFalse(client.lanes.lane(1).isInputDiscarded());
    assertTrue(client.lanes.lane(1).isUnused());
    server.send(1, "d");
    pair.run(50);
    assertEquals(List.of("1:d"), client.received);
    pair.assertNothingHeld();
  }

  /** In the segment behind that of the answer it would stop what the peer has begun meanwhile. */
  @Test
  void stopThatIsDueWhenTheEndArrivesIsLeftOut() {
    client.queue(1, 5);
    passSegment(client, server);
    server.lanes.lane(1).discardInput();
    assertTrue(server.lanes.lane(1).isDue(ControlFrames.STOP));
    client.lanes.lane(1).shutdownOutput();
    passSegment(client, server);
    passSegment(server, client);
    assertTrue(client.lanes.lane(1).isOutputOpen(), "ended, and read");
    client.queue(1, 5);
    passSegment(client, server);
    passSegment(server, client);
    assertFalse(client.lanes.lane(1).takeOutputStop());
    assertTrue(server.lanes.lane(1).isReadable());
  }

  /** What can leave arrives at once: one segment, with room for a single control frame. */
  private static void passSegment(LanePair.Side from, LanePair.Side to) {
    LaneSender sender = from.lanes.sender();
    if (sender.isReady()) {
      ByteBuffer segment = ByteBuffer.allocate(12);
      sender.pull(segment, segment.limit());
      sender.onSent(1);
      ByteBuf payload = Unpooled.wrappedBuffer(segment.flip());
      assertTrue(SinkAccess.of(to.kcp).take(payload, 0, payload.readableBytes(), true));
    }
  }

  @Test
  void discardingAnIdleLaneAsksForNothing() {
    server.lanes.lane(1).discardInput();
    server.flush();
    pair.run(50);
    assertTrue(client.lanes.lane(1).isOutputOpen());
  }

  @Test
  void closingDropsWhatWaitsAndReleasesWhatHasBeenReceived() {
    server.isRead = lane -> false;
    client.lane(2, LaneKind.RELIABLE_UNORDERED);
    client.isLost = n -> n % 3 == 2;
    for (int i = 0; i < 20; i++) {
      client.send(1, 3_000).send(2, 3_000);
    }
    pair.run(15);
    pair.assertNothingHeld();
    assertTrue(client.fates.contains("1:3000 SESSION_CLOSED"), client.fates.toString());
    assertThrows(IllegalStateException.class, () -> client.send(1, "a"));
  }
}
