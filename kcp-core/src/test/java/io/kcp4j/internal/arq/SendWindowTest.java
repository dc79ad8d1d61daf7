package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.TS_ORIGIN;
import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.LossSample;
import io.netty.buffer.ByteBuf;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the send window and the send queue allow below a large limit. */
class SendWindowTest {

  private static final int RTT_US = 100_000;

  private static KcpConfig.Builder uncontrolled() {
    return KcpConfig.builder().congestionControl(CongestionControl.NONE).maxBurst(0);
  }

  /** A session whose peer takes more than it ever sends. */
  private static DrivenKcp open(KcpConfig.Builder config) {
    DrivenKcp driven = new DrivenKcp(config);
    driven.peerWnd = KcpConfig.MAX_WINDOW;
    driven.receiveBatch(driven.wins());
    return driven;
  }

  private static void fill(DrivenKcp driven) {
    ByteBuf data = bytes(1176 * 1024);
    boolean isSending;
    do {
      int inFlight = driven.kcp.stats().inFlight();
      driven.kcp.send(data.readerIndex(0));
      driven.kcp.afterSend(driven.nowUs, driven);
      isSending = driven.kcp.stats().inFlight() > inFlight;
    } while (isSending);
  }

  /** A round trip passes, at whose end the peer acknowledges so many segments. */
  private static void acknowledge(DrivenKcp driven, int segments) {
    acknowledge(driven, segments, RTT_US);
  }

  private static void acknowledge(DrivenKcp driven, int segments, int rttUs) {
    int newest = driven.peerUna + segments - 1;
    int ts = TS_ORIGIN + (int) (driven.nowUs / 1000);
    driven.nowUs += rttUs;
    driven.peerUna += segments;
    driven.receiveBatch(driven.ack(newest, ts));
    driven.kcp.flush(driven.nowUs, driven);
  }

  @Test
  void limitOfAtMost1024SegmentsIsTheWindowFromTheStart() {
    DrivenKcp driven = open(uncontrolled().sendWindow(1024));
    fill(driven);
    assertEquals(1024, driven.kcp.stats().inFlight());
  }

  @Test
  void windowBelowALargeLimitBeginsWith256Segments() {
    DrivenKcp driven = open(uncontrolled().sendWindow(1025));
    fill(driven);
    assertEquals(256, driven.kcp.stats().inFlight());
  }

  @Test
  void windowIsTwiceWhatAShortestRoundTripDelivers() {
    DrivenKcp driven = open(uncontrolled());
    fill(driven);
    acknowledge(driven, 256);
    fill(driven);
    assertEquals(256, driven.kcp.stats().inFlight());
    acknowledge(driven, 256);
    fill(driven);
    assertEquals(512, driven.kcp.stats().inFlight());
    acknowledge(driven, 300);
    fill(driven);
    assertEquals(600, driven.kcp.stats().inFlight());
    acknowledge(driven, 300);
    fill(driven);
    assertEquals(600, driven.kcp.stats().inFlight());
  }

  @Test
  void queueOfThePathDoesNotMakeTheWindowGrow() {
    DrivenKcp driven = open(uncontrolled());
    fill(driven);
    acknowledge(driven, 256);
    fill(driven);
    acknowledge(driven, 256);
    for (int i = 0; i < 20; i++) {
      fill(driven);
      driven.nowUs += 4 * RTT_US;
      acknowledge(driven, 500);
    }
    fill(driven);
    assertEquals(512, driven.kcp.stats().inFlight());
  }

  /** The queue is there for so long that no sample without it is left. */
  @Test
  void shortestRoundTripOfLongAgoBoundsTheWindow() {
    DrivenKcp driven = open(uncontrolled().sendWindow(1500));
    fill(driven);
    acknowledge(driven, 256);
    fill(driven);
    acknowledge(driven, 256);
    for (int i = 0; i < 42; i++) {
      fill(driven);
      acknowledge(driven, 500, 5 * RTT_US);
    }
    fill(driven);
    assertEquals(5 * RTT_US, driven.kcp.sender.rtt.minRttUs());
    assertEquals(512, driven.kcp.stats().inFlight());
  }

  @Test
  void windowGrowsToItsLimitAndNotBeyond() {
    DrivenKcp driven = open(uncontrolled().sendWindow(1500));
    for (int window : new int[] {256, 256, 512, 1024, 1500, 1500}) {
      fill(driven);
      assertEquals(window, driven.kcp.stats().inFlight());
      acknowledge(driven, window);
    }
  }

  @Test
  void windowDoesNotCountWhatIsAcknowledgedBehindAGap() {
    DrivenKcp driven = open(uncontrolled().sendWindow(1025));
    fill(driven);
    for (int sn = 1; sn <= 40; sn++) {
      driven.input(driven.ack(sn, TS_ORIGIN));
    }
    fill(driven);
    assertEquals(256, driven.kcp.stats().inFlight());
    assertEquals(296, driven.kcp.sendNext() - driven.kcp.sendUna());
  }

  @Test
  void congestionControlAloneBoundsWhatIsInFlight() {
    DrivenKcp driven =
        open(KcpConfig.builder().congestionControl(mss -> new Fixed(3000)).maxBurst(0));
    fill(driven);
    assertEquals(3000, driven.kcp.stats().inFlight());
  }

  @ParameterizedTest
  @ValueSource(ints = {512, KcpConfig.DEFAULT_WINDOW})
  void queueHas64SegmentsAtFirst(int sendWindow) {
    DrivenKcp driven = new DrivenKcp(KcpConfig.builder().sendWindow(sendWindow));
    assertFalse(driven.kcp.send(bytes(1176 * 300)));
    assertEquals(64, driven.kcp.stats().queued());
  }

  @Test
  void queueIsAsLargeAsTheWindowUpTo1024Segments() {
    DrivenKcp driven =
        open(KcpConfig.builder().congestionControl(mss -> new Fixed(700)).maxBurst(0));
    fill(driven);
    assertEquals(700, driven.kcp.stats().queued());
    DrivenKcp large =
        open(KcpConfig.builder().congestionControl(mss -> new Fixed(3000)).maxBurst(0));
    fill(large);
    assertEquals(1024, large.kcp.stats().queued());
  }

  @Test
  void configuredQueueIsTakenAsItIs() {
    DrivenKcp driven = open(KcpConfig.builder().sendQueue(5));
    driven.kcp.send(bytes(1176 * 300));
    assertEquals(5, driven.kcp.stats().queued());
  }

  /** A window that never changes. */
  private record Fixed(int window) implements CongestionControl {

    @Override
    public void onAck(AckSample sample) {}

    @Override
    public void onLoss(LossSample sample) {}

    @Override
    public void onMssChanged(int mssBytes) {}
  }
}
