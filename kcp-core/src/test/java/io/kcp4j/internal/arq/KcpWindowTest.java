package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static io.kcp4j.internal.arq.DrivenKcp.counting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kcp4j.CongestionControl;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The send, receive and congestion windows, window probes and write stalls. */
class KcpWindowTest {

  private static final List<Integer> WASK = List.of(Segment.WASK);

  private final DrivenKcp driven = new DrivenKcp(counting());

  /** Receives a WINS that acknowledges all segments below una and advertises this window. */
  private void acknowledge(DrivenKcp driven, int una, int wnd) {
    driven.peerUna = una;
    driven.peerWnd = wnd;
    driven.receiveBatch(driven.wins());
  }

  @Test
  void sendWindowLimitsWhatIsInFlight() {
    DrivenKcp narrow = new DrivenKcp(counting().sendWindow(4).sendQueue(9));
    narrow.sendSegments(6);
    assertEquals(List.of(0, 1, 2, 3), narrow.sentSns(Segment.PUSH));
    acknowledge(narrow, 1, 128);
    assertEquals(List.of(4), narrow.sentSns(Segment.PUSH));
  }

  @Test
  void peersWindowLimitsWhatIsInFlight() {
    driven.peerWnd = 3;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(6);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    acknowledge(driven, 2, 3);
    assertEquals(List.of(3, 4), driven.sentSns(Segment.PUSH));
  }

  @Test
  void peerGets32SegmentsBeforeItAdvertisesAWindow() {
    driven.sendSegments(40);
    assertEquals(32, driven.kcp.stats().inFlight());
    assertEquals(8, driven.kcp.stats().queued());
  }

  @Test
  void windowThatOpensIsUsedAtOnce() {
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(2);
    assertEquals(List.of(), driven.sent());
    driven.peerWnd = 1;
    driven.receiveBatch(driven.wins());
    assertEquals(List.of(0), driven.sentSns(Segment.PUSH));
  }

  @Test
  void closedWindowIsProbedAfterHalfASecondAndThenWithBackoff() {
    DrivenKcp blocked = new DrivenKcp(counting().zeroWindowTimeoutMs(0));
    blocked.peerWnd = 0;
    blocked.receiveBatch(blocked.wins());
    blocked.runTo(10_000_000);
    assertEquals(List.of(), blocked.sent());
    blocked.sendSegments(1);
    long at = blocked.nowUs;
    int wait = 500_000;
    for (int probe = 0; probe < 20; probe++) {
      at += wait;
      blocked.runTo(at - 1);
      assertEquals(List.of(), blocked.sentCmds(), "before " + at);
      blocked.runTo(at);
      assertEquals(WASK, blocked.sentCmds(), "at " + at);
      wait = Math.min(wait + wait / 2, 120_000_000);
    }
    assertEquals(120_000_000, wait);
    assertNull(blocked.kcp.failure());
  }

  @Test
  void probingRestartsWhenTheWindowClosesAgain() {
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(2);
    driven.runTo(3_000_000);
    driven.sent();
    driven.peerWnd = 1;
    driven.receiveBatch(driven.wins());
    acknowledge(driven, 1, 0);
    driven.sent();
    driven.runTo(3_499_999);
    assertEquals(List.of(), driven.sentCmds());
    driven.runTo(3_500_000);
    assertEquals(WASK, driven.sentCmds());
  }

  @Test
  void probesInOneDatagramGetOneImmediateAnswer() {
    driven.receiveBatch(driven.wask(), driven.wask(), driven.wask());
    List<SentSegment> sent = driven.sent();
    assertEquals(1, sent.size());
    assertEquals(Segment.WINS, sent.get(0).cmd());
    assertEquals(256, sent.get(0).wnd());
  }

  @Test
  void readFromAFullQueueSendsAWindowUpdateAtOnce() {
    DrivenKcp narrow = new DrivenKcp(counting().receiveWindow(2));
    narrow.receiveBatch(narrow.push(0, bytes(9)));
    narrow.receiveAll();
    narrow.kcp.afterSend(narrow.nowUs, narrow);
    assertEquals(List.of(), narrow.sentSns(Segment.WINS), "the queue was not full");
    narrow.receiveBatch(narrow.push(1, bytes(9)), narrow.push(2, bytes(9)));
    assertEquals(0, narrow.sent().get(0).wnd());
    narrow.receiveAll();
    narrow.kcp.afterSend(narrow.nowUs, narrow);
    SentSegment update = narrow.sent().get(0);
    assertEquals(Segment.WINS, update.cmd());
    assertEquals(2, update.wnd());
  }

  @Test
  void unreadSegmentsShrinkTheAdvertisedWindow() {
    driven.receiveBatch(
        driven.push(0, bytes(9)), driven.push(1, bytes(9)), driven.push(5, bytes(9)));
    driven.runTo(20_000);
    assertEquals(254, driven.sent().get(0).wnd());
  }

  @Test
  void segmentsWithinTheWindowAreKeptWhileTheQueueIsFull() {
    DrivenKcp narrow = new DrivenKcp(counting().receiveWindow(2));
    narrow.receiveBatch(narrow.push(0, bytes(1)), narrow.push(1, bytes(1)));
    narrow.receiveBatch(
        narrow.push(2, bytes(1)), narrow.push(3, bytes(1)), narrow.push(4, bytes(1)));
    assertEquals(1, narrow.count(KcpCounter.OUT_OF_WINDOW));
    assertEquals(4, narrow.receiveAll().readableBytes());
  }

  @Test
  void windowOfAReorderedDatagramIsIgnored() {
    driven.sendSegments(4);
    driven.peerUna = 2;
    driven.peerWnd = 100;
    driven.receiveBatch(driven.wins());
    driven.peerUna = 1;
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    assertEquals(100, driven.kcp.stats().remoteWindow(), "una is older");
    driven.peerUna = 2;
    driven.peerWnd = 99;
    driven.receiveBatch(driven.wins());
    assertEquals(100, driven.kcp.stats().remoteWindow(), "una is equal and wnd smaller");
    driven.peerWnd = 101;
    driven.receiveBatch(driven.wins());
    assertEquals(101, driven.kcp.stats().remoteWindow(), "una is equal and wnd larger");
    driven.peerUna = 3;
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    assertEquals(0, driven.kcp.stats().remoteWindow(), "una is newer");
  }

  @Test
  void segmentsInFlightAreRetransmittedWhileTheWindowIsClosed() {
    driven.sendSegments(2);
    acknowledge(driven, 1, 0);
    driven.sent();
    driven.runTo(driven.nowUs + 200_000);
    assertEquals(List.of(1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void stalledWriteFailsAfterItsTimeout() {
    DrivenKcp stalled = new DrivenKcp(counting().zeroWindowTimeoutMs(10_000));
    stalled.peerWnd = 0;
    stalled.receiveBatch(stalled.wins());
    stalled.runTo(7_000_000);
    stalled.sendSegments(1);
    stalled.runTo(16_999_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(17_000_000);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, stalled.kcp.failure());
  }

  /** A session with 200 segments queued whose peer has just closed its window of 128. */
  private DrivenKcp closed() {
    DrivenKcp stalled = new DrivenKcp(counting().userTimeoutMs(0).sendQueue(256));
    stalled.receiveBatch(stalled.wins());
    stalled.peerWnd = 0;
    stalled.peerUna = 1;
    stalled.sendSegments(1);
    stalled.receiveBatch(stalled.wins());
    stalled.sendSegments(200);
    return stalled;
  }

  /** The peer accepts this many segments, one by one, and closes its window after each. */
  private void accept(DrivenKcp stalled, int segments) {
    for (int i = 0; i < segments; i++) {
      stalled.peerWnd = 1;
      stalled.receiveBatch(stalled.wins());
      acknowledge(stalled, stalled.peerUna + 1, 0);
    }
  }

  @Test
  void zeroWindowTimeoutIsAMinuteByDefault() {
    DrivenKcp stalled = closed();
    stalled.runTo(59_999_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(60_000_000);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, stalled.kcp.failure());
  }

  @Test
  void occasionalSegmentsDoNotEndAStall() {
    DrivenKcp stalled = closed();
    for (int s = 8; s < 60; s += 8) {
      stalled.runTo(1_000_000L * s);
      accept(stalled, 1);
    }
    stalled.runTo(59_999_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(60_000_000);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, stalled.kcp.failure());
  }

  @Test
  void slowReaderOfASixteenthOfItsWindowAMinuteIsNotStalled() {
    DrivenKcp slow = closed();
    for (int minute = 1; minute <= 10; minute++) {
      slow.runTo(59_000_000L * minute);
      accept(slow, 128 / 16);
    }
    assertNull(slow.kcp.failure());
  }

  @Test
  void windowThatOpensWideRestartsTheStallTimeoutOnce() {
    DrivenKcp paused = closed();
    paused.runTo(59_000_000);
    acknowledge(paused, 1, 128);
    acknowledge(paused, 2, 0);
    // From now on the peer accepts one segment in flight every 10 seconds.
    for (int s = 65; s < 115; s += 10) {
      paused.runTo(1_000_000L * s);
      acknowledge(paused, paused.peerUna, 100);
      acknowledge(paused, paused.peerUna + 1, 0);
    }
    assertNull(paused.kcp.failure());
    paused.runTo(119_000_000);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, paused.kcp.failure());
  }

  @Test
  void windowThatStaysOpenEndsTheStall() {
    DrivenKcp paused = closed();
    paused.runTo(59_000_000);
    for (int una = 1; una < 200; una += 2, paused.runTo(paused.nowUs + 1_000_000)) {
      acknowledge(paused, una, 128);
    }
    assertNull(paused.kcp.failure());
  }

  @Test
  void timeInWhichTheSessionIsNotDrivenDoesNotCountAsStalled() {
    DrivenKcp stalled = closed();
    stalled.runTo(400_000);
    stalled.nowUs = 1_000_000_000; // The process is paused. The first probe was due at 500 ms.
    stalled.runTo(1_059_499_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(1_059_500_000);
    assertEquals(EndReason.ZERO_WINDOW_TIMEOUT, stalled.kcp.failure());
  }

  @Test
  void congestionWindowLimitsWhatIsInFlight() {
    DrivenKcp reno = new DrivenKcp(counting().congestionControl(CongestionControl.RENO));
    reno.sendSegments(8);
    assertEquals(List.of(0), reno.sentSns(Segment.PUSH));
    acknowledge(reno, 1, 128);
    assertEquals(List.of(1, 2), reno.sentSns(Segment.PUSH));
    reno.runTo(reno.nowUs + 200_000);
    assertEquals(1, reno.kcp.stats().congestionWindow(), "after a timeout");
  }
}
