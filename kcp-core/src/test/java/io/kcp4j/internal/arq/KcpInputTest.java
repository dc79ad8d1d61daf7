package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.CONV;
import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpStats;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** What {@link Kcp#input} makes of datagrams, right and wrong. */
class KcpInputTest {

  private static final int HEADER = Segment.HEADER_BYTES;

  private final DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);

  private InputResult input(ByteBuf datagram) {
    return driven.kcp.input(datagram, driven.nowUs);
  }

  private void assertRefused(InputResult expected, KcpCounter counter, ByteBuf... segments) {
    long before = driven.count(counter);
    KcpStats unchanged = driven.kcp.stats();
    assertEquals(expected, driven.input(segments));
    assertEquals(before + 1, driven.count(counter));
    assertEquals(0, driven.count(KcpCounter.SEGMENTS_IN));
    assertEquals(unchanged.inFlight(), driven.kcp.stats().inFlight());
    assertEquals(unchanged.usedMemoryBytes(), driven.kcp.stats().usedMemoryBytes());
    assertFalse(driven.kcp.isReceivable());
  }

  @Test
  void datagramIsTakenWholeAndRefusedWhereItIsCut() {
    ByteBuf whole = Unpooled.copiedBuffer(driven.push(0, bytes(5)), driven.push(1, bytes(5)));
    for (int cut = 0; cut <= whole.readableBytes(); cut++) {
      DrivenKcp fresh = new DrivenKcp(KcpConfig.DEFAULT);
      InputResult result = fresh.kcp.input(whole.slice(0, cut), 0);
      boolean firstIsWhole = cut >= HEADER + 5;
      boolean secondIsCutInItsPayload = cut >= 2 * HEADER + 5 && cut < 2 * (HEADER + 5);
      boolean good = firstIsWhole && !secondIsCutInItsPayload;
      assertEquals(good ? InputResult.ACCEPTED : InputResult.MALFORMED, result, "cut at " + cut);
      assertEquals(good, fresh.kcp.isReceivable(), "cut at " + cut);
      assertEquals(good ? 0 : 1, fresh.count(KcpCounter.MALFORMED), "cut at " + cut);
    }
  }

  @Test
  void trailingBytesShorterThanAHeaderAreIgnored() {
    for (int trailing = 0; trailing < HEADER; trailing++) {
      ByteBuf segment = driven.push(trailing, bytes(1));
      assertEquals(InputResult.ACCEPTED, driven.input(segment, bytes(trailing)));
    }
    assertEquals(HEADER, driven.receiveAll().readableBytes());
    assertEquals(InputResult.WRONG_CONV, driven.input(driven.push(24, bytes(1)), bytes(HEADER)));
    assertFalse(driven.kcp.isReceivable());
  }

  @Test
  void lengthBeyondTheEndIsMalformed() {
    for (int length : new int[] {6, 0x7fffffff, 0x80000000, -24, -1}) {
      ByteBuf segment = driven.push(0, bytes(5)).setIntLE(20, length);
      assertRefused(InputResult.MALFORMED, KcpCounter.MALFORMED, segment);
    }
    assertEquals(InputResult.ACCEPTED, input(driven.push(0, bytes(5)).setIntLE(20, 5)));
  }

  @Test
  void oneBadSegmentRefusesTheWholeDatagram() {
    ByteBuf good = driven.push(0, bytes(5));
    assertRefused(
        InputResult.WRONG_CONV, KcpCounter.WRONG_CONV, good, driven.wask().setIntLE(0, CONV + 1));
    assertRefused(
        InputResult.UNKNOWN_COMMAND,
        KcpCounter.UNKNOWN_COMMAND,
        good,
        driven.wask().setByte(4, 80));
    assertRefused(
        InputResult.UNKNOWN_COMMAND,
        KcpCounter.UNKNOWN_COMMAND,
        good,
        driven.wins().setByte(4, 85));
    assertRefused(
        InputResult.MALFORMED,
        KcpCounter.MALFORMED,
        good,
        driven.push(1, bytes(5)).setIntLE(20, 6));
    assertEquals(InputResult.ACCEPTED, input(good));
  }

  @Test
  void unaAtTheNextSegmentIsTakenAndOneBeyondIsRefused() {
    driven.sendSegments(2);
    driven.peerUna = 3;
    assertRefused(
        InputResult.ACKNOWLEDGES_UNSENT, KcpCounter.ACKNOWLEDGES_UNSENT, driven.push(0, bytes(1)));
    assertEquals(2, driven.kcp.stats().inFlight());
    driven.peerUna = 2;
    assertEquals(InputResult.ACCEPTED, driven.input(driven.wins()));
    assertTrue(driven.kcp.isDrained());
  }

  @Test
  void ackOfTheLastSegmentIsTakenAndOneBeyondIsRefused() {
    driven.sendSegments(2);
    assertRefused(
        InputResult.ACKNOWLEDGES_UNSENT, KcpCounter.ACKNOWLEDGES_UNSENT, driven.ack(2, 1000));
    assertEquals(InputResult.ACCEPTED, driven.input(driven.ack(1, 1000)));
    assertEquals(1, driven.kcp.stats().inFlight());
  }

  @Test
  void queuedSegmentsCannotBeAcknowledged() {
    DrivenKcp narrow = new DrivenKcp(KcpConfig.builder().sendWindow(2).sendQueue(9));
    narrow.sendSegments(4);
    narrow.peerUna = 3;
    assertEquals(InputResult.ACKNOWLEDGES_UNSENT, narrow.input(narrow.wins()));
    assertEquals(2, narrow.kcp.stats().queued());
  }

  @Test
  void oldAcknowledgementsChangeNothing() {
    driven.sendSegments(3);
    driven.peerUna = 2;
    driven.receiveBatch(driven.wins());
    driven.peerUna = -7;
    driven.receiveBatch(driven.ack(0, 1000), driven.ack(-1, 1000), driven.ack(1, 5));
    assertEquals(1, driven.kcp.stats().inFlight());
    assertEquals(0, driven.kcp.stats().srttUs());
    assertEquals(0, driven.count(KcpCounter.INVALID_TIMESTAMP));
  }

  @Test
  void datagramIsReadBetweenItsIndicesAndStaysAsItWas() {
    ByteBuf datagram = Unpooled.buffer().writeZero(7).writeBytes(driven.push(0, bytes(5)));
    datagram.readerIndex(7);
    int end = datagram.writerIndex();
    datagram.setZero(end, 100);
    assertEquals(InputResult.ACCEPTED, input(datagram));
    assertEquals(7, datagram.readerIndex());
    assertEquals(end, datagram.writerIndex());
    assertEquals(1, datagram.refCnt());
    assertEquals(bytes(5), driven.receiveAll());
  }

  @Test
  void closedSessionTakesNothing() {
    driven.kcp.close();
    assertEquals(InputResult.SESSION_ENDED, driven.input(driven.push(0, bytes(5))));
    assertFalse(driven.kcp.send(bytes(5)));
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.assertNothingHeld();
  }

  @Test
  void nonsenseIsCountedAndLeavesTheSessionAlive() {
    Random random = new Random(5);
    ByteBuf junk = Unpooled.buffer(200);
    driven.sendSegments(5);
    for (int i = 0; i < 20_000; i++) {
      byte[] noise = new byte[random.nextInt(100)];
      random.nextBytes(noise);
      junk.clear().writeIntLE(CONV).writeByte(80 + random.nextInt(6)).writeBytes(noise);
      if (random.nextBoolean() && junk.readableBytes() >= HEADER) {
        junk.setIntLE(20, junk.readableBytes() - HEADER);
      }
      input(junk);
      driven.kcp.afterInput(driven.nowUs, driven);
      driven.sentDatagrams();
    }
    assertEquals(null, driven.kcp.failure());
    assertEquals(20_000, driven.count(KcpCounter.DATAGRAMS_IN));
    driven.kcp.close();
    driven.assertNothingHeld();
  }
}
