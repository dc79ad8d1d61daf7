package io.kcp4j.internal.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link Timestamps} alone: protocol.md 2.7. */
class TimestampsTest {

  private static final int NOW_MS = 5_000;
  private static final long NOW_US = NOW_MS * 1_000L;

  /** How long a timestamp that was sent is recognised, in milliseconds. */
  private static final int RECOGNISED_MS = 1 << 24;

  /** By how much the clocks may drift, in milliseconds. */
  private static final int DRIFT_MS = 1 << 20;

  /** A clock at 0 whose peer's is ahead by so many milliseconds, as a PUSH in order has told. */
  private static Timestamps withPeerAhead(int aheadMs) {
    Timestamps timestamps = new Timestamps(0);
    assertTrue(timestamps.takePeer(NOW_MS + aheadMs, true, NOW_US));
    return timestamps;
  }

  @ParameterizedTest
  @ValueSource(ints = {1 << 29, (1 << 30) + 1, Integer.MAX_VALUE, Integer.MIN_VALUE, -(1 << 29)})
  void clocksAreApartFromHalfOfAQuarterOfTheirRange(int aheadMs) {
    assertTrue(withPeerAhead(aheadMs).isOwnRecognised());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, (1 << 29) - 1, 1 - (1 << 29)})
  void clocksThatAreCloserAreNotApart(int aheadMs) {
    assertFalse(withPeerAhead(aheadMs).isOwnRecognised());
  }

  @Test
  void clockMovesAtLeastAQuarterOfItsRangeAwayFromThePeersAndStaysRandom() {
    Random random = new Random(1);
    Set<Integer> distances = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      Timestamps timestamps = new Timestamps(random.nextInt());
      int peerTs = random.nextInt();
      timestamps.keepApart(peerTs, NOW_US);
      int distance = timestamps.at(NOW_US) - peerTs;
      assertTrue(Math.abs((long) distance) >= 1 << 30, "distance " + distance);
      distances.add(distance);
    }
    assertTrue(distances.size() > 990, "distances " + distances.size());
  }

  @Test
  void ownPushIsRecognisedFromNowOnFor4Point6Hours() {
    Timestamps timestamps = withPeerAhead(1 << 30);
    assertFalse(timestamps.isOwn(Segment.PUSH, NOW_MS + 1, NOW_MS));
    assertTrue(timestamps.isOwn(Segment.PUSH, NOW_MS, NOW_MS));
    assertTrue(timestamps.isOwn(Segment.PUSH, NOW_MS - RECOGNISED_MS + 1, NOW_MS));
    assertFalse(timestamps.isOwn(Segment.PUSH, NOW_MS - RECOGNISED_MS, NOW_MS));
  }

  /** An ACK repeats a timestamp of the peer, whose clock may have gained on this one. */
  @ParameterizedTest
  @ValueSource(ints = {1 << 30, -(1 << 30)})
  void ownAckIsRecognisedByThePeersClock(int aheadMs) {
    Timestamps timestamps = withPeerAhead(aheadMs);
    int newest = NOW_MS + aheadMs + DRIFT_MS;
    assertFalse(timestamps.isOwn(Segment.ACK, newest + 1, NOW_MS));
    assertTrue(timestamps.isOwn(Segment.ACK, newest, NOW_MS));
    assertTrue(timestamps.isOwn(Segment.ACK, newest - RECOGNISED_MS + 1, NOW_MS));
    assertFalse(timestamps.isOwn(Segment.ACK, newest - RECOGNISED_MS, NOW_MS));
    assertFalse(timestamps.isOwn(Segment.PUSH, NOW_MS + aheadMs, NOW_MS), "the peer's PUSH");
    assertFalse(timestamps.isOwn(Segment.ACK, NOW_MS, NOW_MS), "the peer's ACK");
  }

  /** Both sides may send the same: their timestamps are not looked at by the peer. */
  @Test
  void controlSegmentsAreNobodysOwn() {
    Timestamps timestamps = withPeerAhead(1 << 30);
    assertFalse(timestamps.isOwn(Segment.WASK, NOW_MS, NOW_MS));
    assertFalse(timestamps.isOwn(Segment.WINS, NOW_MS, NOW_MS));
    assertFalse(timestamps.isOwn(Segment.WASK, NOW_MS + (1 << 30), NOW_MS));
    assertFalse(timestamps.isOwn(Segment.WINS, NOW_MS + (1 << 30), NOW_MS));
  }

  /** A duplicate may be a challenge, or forged. */
  @Test
  void peersClockIsLearntOnlyOfASegmentInOrderAndOnlyOnce() {
    Timestamps timestamps = new Timestamps(0);
    assertFalse(timestamps.takePeer(1 << 30, false, NOW_US));
    assertFalse(timestamps.isOwnRecognised());
    assertTrue(timestamps.takePeer(NOW_MS + (1 << 30), true, NOW_US));
    assertTrue(timestamps.takePeer(Integer.MIN_VALUE + NOW_MS - 1, true, NOW_US));
    assertTrue(timestamps.takePeer(NOW_MS - 2, true, NOW_US), "by half of the range");
    assertTrue(timestamps.isOwnRecognised());
    assertTrue(timestamps.isOwn(Segment.ACK, NOW_MS + (1 << 30), NOW_MS));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, Integer.MAX_VALUE - 1, Integer.MAX_VALUE, -1, Integer.MIN_VALUE})
  void onlyATimestampThatIsNewerThanAllBeforeIsNew(int first) {
    Timestamps timestamps = new Timestamps(0);
    assertTrue(timestamps.takePeer(first, true, NOW_US));
    assertFalse(timestamps.takePeer(first, true, NOW_US));
    assertFalse(timestamps.takePeer(first - 1, true, NOW_US));
    assertTrue(timestamps.takePeer(first + 2, false, NOW_US));
    assertFalse(timestamps.takePeer(first + 1, true, NOW_US), "older than the newest");
    assertTrue(timestamps.takePeer(first + 3, true, NOW_US));
  }

  @Test
  void timestampIsThatOfTheMillisecondAlsoBeforeTimeZero() {
    Timestamps timestamps = new Timestamps(100);
    assertEquals(100, timestamps.at(999));
    assertEquals(101, timestamps.at(1_000));
    assertEquals(99, timestamps.at(-1));
  }
}
