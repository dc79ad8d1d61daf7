package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.CONV;
import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Sequence numbers and timestamps that begin just below their wraps, of 2^31 and of 2^32. */
class KcpWrapTest {

  private static final int[] BELOW_A_WRAP = {-5, Integer.MAX_VALUE - 4};

  private static DrivenKcp driven(int tsOrigin, int firstSn) {
    return new DrivenKcp(counting().build(), MemoryBudget.unlimited(), tsOrigin, firstSn);
  }

  @Test
  void segmentsCrossTheWrapInBothDirections() {
    for (int first : BELOW_A_WRAP) {
      DrivenKcp driven = driven(0, first);
      driven.sendSegments(20);
      driven.receiveBatch(driven.ack(first + 8, 0));
      assertEquals(19, driven.kcp.stats().inFlight());
      driven.peerUna = first + 10;
      driven.receiveBatch(driven.wins());
      assertEquals(10, driven.kcp.stats().inFlight());
      ByteBuf data = bytes(20);
      for (int i = 19; i >= 0; i--) {
        driven.receiveBatch(driven.push(first + i, data.slice(i, 1)));
      }
      assertEquals(data, driven.receiveAll());
      driven.sent();
      driven.receiveBatch(driven.push(first + 19, bytes(1)));
      driven.runTo(driven.nowUs + 20_000);
      assertTrue(driven.sent().stream().allMatch(s -> s.una() == first + 20));
      assertEquals(1, driven.count(KcpCounter.DUPLICATES));
    }
  }

  @Test
  void limitsOfTheWindowHoldOverTheWrap() {
    for (int first : BELOW_A_WRAP) {
      DrivenKcp driven = driven(0, first);
      driven.receiveBatch(driven.push(first + 8191, bytes(1)), driven.push(first + 8192, bytes(1)));
      assertEquals(1, driven.count(KcpCounter.OUT_OF_WINDOW));
    }
  }

  @Test
  void unaBeyondTheNextIsRefusedOverTheWrap() {
    for (int first : BELOW_A_WRAP) {
      DrivenKcp driven = driven(0, first);
      driven.sendSegments(10);
      driven.peerUna = first + 11;
      assertEquals(InputResult.ACKNOWLEDGES_UNSENT, driven.input(driven.wins()));
      driven.peerUna = first + 10;
      assertEquals(InputResult.ACCEPTED, driven.input(driven.wins()));
      assertTrue(driven.kcp.isDrained());
    }
  }

  @Test
  void fastRetransmitWorksOverTheWrap() {
    for (int first : BELOW_A_WRAP) {
      DrivenKcp driven = driven(0, first);
      driven.sendSegments(10);
      driven.sent();
      driven.receiveBatch(driven.ack(first + 6, 0), driven.ack(first + 7, 0));
      assertEquals(
          List.of(first, first + 1, first + 2, first + 3, first + 4, first + 5),
          driven.sentSns(Segment.PUSH));
    }
  }

  @Test
  void roundTripIsMeasuredOverTheWrapOfTheTimestamp() {
    for (int origin : BELOW_A_WRAP) {
      DrivenKcp driven = driven(origin, 0);
      driven.sendSegments(1);
      driven.runTo(80_000);
      driven.receiveBatch(driven.ack(0, origin));
      assertEquals(80_000, driven.kcp.stats().srttUs());
      assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
    }
  }

  /** The age of the first transmission, in milliseconds, exceeds an int. */
  @Test
  void roundTripOfATransmissionOfHalfAWrapAgoCountsAsTheLargestTimeout() {
    for (int origin : BELOW_A_WRAP) {
      KcpConfig config = counting().userTimeoutMs(0).build();
      DrivenKcp driven = new DrivenKcp(config, MemoryBudget.unlimited(), origin, 0);
      driven.sendSegments(1);
      driven.nowUs = 1_000L * Integer.MAX_VALUE;
      driven.kcp.flush(driven.nowUs, driven);
      assertEquals(1, driven.count(KcpCounter.TIMED_OUT));
      driven.nowUs += 3_000;
      driven.receiveBatch(driven.ack(0, origin));
      assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
      assertEquals(60_000_000, driven.kcp.stats().srttUs());
    }
  }

  @Test
  void timestampsAreValidatedOverTheWrap() {
    for (int origin : BELOW_A_WRAP) {
      DrivenKcp driven = driven(origin, 0);
      driven.sendSegments(1);
      driven.runTo(200_000);
      driven.receiveBatch(driven.ack(0, origin + 201));
      assertEquals(1, driven.count(KcpCounter.INVALID_TIMESTAMP));
      driven.sendSegments(1);
      driven.receiveBatch(driven.ack(1, origin + 200));
      assertEquals(1, driven.count(KcpCounter.INVALID_TIMESTAMP));
    }
  }

  @Test
  void clockMayBeginAnywhere() {
    long day = 86_400_000_000L;
    DrivenKcp driven = driven(7, 0);
    driven.nowUs = 50 * day;
    driven.sendSegments(1);
    SentSegment sent = driven.sent().get(0);
    assertEquals(7 + (int) (50 * day / 1_000), sent.ts());
    assertEquals(CONV, sent.conv());
    driven.runTo(50 * day + 40_000);
    driven.receiveBatch(driven.ack(0, sent.ts()));
    assertEquals(40_000, driven.kcp.stats().srttUs());
  }
}
