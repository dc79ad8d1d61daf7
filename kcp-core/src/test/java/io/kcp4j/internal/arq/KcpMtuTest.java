package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Settings that change while a session runs. */
class KcpMtuTest {

  private static final KcpConfig NARROW = counting().sendWindow(2).sendQueue(9).build();

  private final DrivenKcp driven = new DrivenKcp(NARROW);

  private static List<Integer> sizes(List<ByteBuf> datagrams) {
    return datagrams.stream().map(ByteBuf::readableBytes).toList();
  }

  private void change(KcpConfig.Builder config) {
    driven.kcp.reconfigure(config.build());
  }

  @Test
  void queueIsReSegmentedForASmallerMtu() {
    driven.sendSegments(4);
    assertEquals(List.of(1200, 1200), sizes(driven.sentDatagrams()));
    change(NARROW.toBuilder().mtuBytes(1000).sendWindow(100));
    driven.peerUna = 2;
    driven.receiveBatch(driven.wins());
    List<ByteBuf> datagrams = driven.sentDatagrams();
    assertEquals(List.of(1000, 1000, 424), sizes(datagrams));
    ByteBuf payload = Unpooled.buffer();
    datagrams.forEach(d -> SentSegment.in(d).forEach(s -> payload.writeBytes(s.payload())));
    assertEquals(bytes(4 * 1176).slice(2 * 1176, 2 * 1176), payload);
    driven.peerUna = 5;
    driven.receiveBatch(driven.wins());
    driven.assertNothingHeld();
  }

  @Test
  void segmentsInFlightKeepTheirSizeAndTravelAlone() {
    driven.acknowledged();
    driven.sendSegments(2);
    driven.sentDatagrams();
    change(NARROW.toBuilder().mtuBytes(1000));
    driven.runTo(200_000);
    assertEquals(List.of(1200, 1200), sizes(driven.sentDatagrams()));
  }

  @Test
  void largerMtuIsUsedFromTheNextSegmentOn() {
    change(NARROW.toBuilder().mtuBytes(500));
    driven.sendSegments(1);
    change(NARROW.toBuilder().mtuBytes(1500));
    driven.sendSegments(1);
    assertEquals(List.of(500, 1500), sizes(driven.sentDatagrams()));
  }

  @Test
  void shrinkingAnEmptyQueueChangesNothing() {
    change(NARROW.toBuilder().mtuBytes(500));
    assertTrue(driven.kcp.isDrained());
    driven.assertNothingHeld();
  }

  @Test
  void writesContinueAfterReSegmentation() {
    driven.sendSegments(3);
    change(NARROW.toBuilder().mtuBytes(1000));
    assertTrue(driven.kcp.send(bytes(50)));
    driven.peerUna = 2;
    driven.receiveBatch(driven.wins());
    driven.peerUna = 4;
    driven.receiveBatch(driven.wins());
    List<SentSegment> sent = driven.sent();
    assertEquals(
        3 * 1176 + 50, sent.stream().mapToInt(segment -> segment.payload().readableBytes()).sum());
  }

  @Test
  void deliveryCannotChange() {
    KcpConfig messages = counting().delivery(Delivery.MESSAGE).build();
    assertThrows(IllegalArgumentException.class, () -> driven.kcp.reconfigure(messages));
    assertEquals(NARROW, driven.kcp.config());
  }

  @Test
  void congestionControlCanChange() {
    change(NARROW.toBuilder().congestionControl(CongestionControl.RENO));
    assertEquals(1, driven.kcp.stats().congestionWindow());
    change(NARROW.toBuilder());
    assertEquals(Integer.MAX_VALUE, driven.kcp.stats().congestionWindow());
  }

  @Test
  void congestionControlThatCannotBeMadeChangesNothing() {
    KcpConfig failing =
        NARROW.toBuilder()
            .mtuBytes(500)
            .congestionControl(
                mss -> {
                  throw new IllegalStateException("simulated");
                })
            .build();
    assertThrows(IllegalStateException.class, () -> driven.kcp.reconfigure(failing, 36));
    assertEquals(NARROW, driven.kcp.config());
    assertEquals(NARROW.mtuBytes() - Segment.HEADER_BYTES, driven.kcp.mssBytes());
  }

  @Test
  void receiveWindowThatOpensIsAdvertised() {
    DrivenKcp reader = new DrivenKcp(counting().receiveWindow(1));
    reader.receiveBatch(reader.push(0, bytes(1)));
    reader.sent();
    reader.kcp.reconfigure(counting().receiveWindow(5).build());
    reader.kcp.afterSend(0, reader);
    SentSegment told = reader.sent().get(0);
    assertEquals(Segment.WINS, told.cmd());
    assertEquals(4, told.wnd());
  }

  @Test
  void whatTheLayersBeneathAddCountsAsPartOfTheMtu() {
    driven.kcp.reconfigure(driven.kcp.config(), 36);
    assertEquals(1200 - 36 - Segment.HEADER_BYTES, driven.kcp.mssBytes());
    driven.sendSegments(1);
    assertEquals(List.of(1164), sizes(driven.sentDatagrams()));
    driven.kcp.reconfigure(driven.kcp.config(), 28);
    driven.sendSegments(1);
    assertEquals(List.of(1172), sizes(driven.sentDatagrams()));
  }

  @Test
  void queueIsReSegmentedForALargerOverhead() {
    driven.sendSegments(4);
    assertEquals(List.of(1200, 1200), sizes(driven.sentDatagrams()));
    driven.kcp.reconfigure(driven.kcp.config(), 200);
    driven.peerUna = 2;
    driven.receiveBatch(driven.wins());
    assertEquals(List.of(1000, 1000), sizes(driven.sentDatagrams()));
  }

  @Test
  void overheadMustLeaveRoomForAByteOfPayload() {
    driven.kcp.reconfigure(NARROW.toBuilder().mtuBytes(50).build());
    driven.kcp.reconfigure(driven.kcp.config(), 25);
    assertThrows(
        IllegalArgumentException.class, () -> driven.kcp.reconfigure(driven.kcp.config(), 26));
    assertEquals(1, driven.kcp.mssBytes());
    driven.kcp.reconfigure(NARROW.toBuilder().mtuBytes(100).build());
    driven.kcp.reconfigure(driven.kcp.config(), 75);
    KcpConfig smaller = NARROW.toBuilder().mtuBytes(99).build();
    assertThrows(IllegalArgumentException.class, () -> driven.kcp.reconfigure(smaller));
    assertEquals(100, driven.kcp.config().mtuBytes());
  }
}
