package io.kcp4j;

import static io.kcp4j.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kcp4j.congestion.CongestionControl;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The two windows, and what happens when one of them is closed. */
class KcpWindowTest {

  private static final List<Integer> WASK = List.of(Segment.WASK);

  private final DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);

  /** The peer has received all that was sent, and advertises this window. */
  private void acknowledgeAll(DrivenKcp driven, int una, int wnd) {
    driven.peerUna = una;
    driven.peerWnd = wnd;
    driven.receiveBatch(driven.wins());
  }

  @Test
  void sendWindowLimitsWhatIsInFlight() {
    DrivenKcp narrow = new DrivenKcp(KcpConfig.builder().sendWindow(4).sendQueue(9));
    narrow.sendSegments(6);
    assertEquals(List.of(0, 1, 2, 3), narrow.sentSns(Segment.PUSH));
    acknowledgeAll(narrow, 1, 128);
    assertEquals(List.of(4), narrow.sentSns(Segment.PUSH));
  }

  @Test
  void peersWindowLimitsWhatIsInFlight() {
    driven.peerWnd = 3;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(6);
    assertEquals(List.of(0, 1, 2), driven.sentSns(Segment.PUSH));
    acknowledgeAll(driven, 2, 3);
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
  void closedWindowIsProbedAfterHalfASecondAndThenEverMoreSeldom() {
    DrivenKcp patient = new DrivenKcp(KcpConfig.builder().writeStallTimeoutMs(0));
    patient.peerWnd = 0;
    patient.receiveBatch(patient.wins());
    patient.runTo(10_000);
    assertEquals(List.of(), patient.sent());
    patient.sendSegments(1);
    long at = patient.nowMs;
    int wait = 500;
    for (int probe = 0; probe < 20; probe++) {
      at += wait;
      patient.runTo(at - 1);
      assertEquals(List.of(), patient.sentCmds(), "before " + at);
      patient.runTo(at);
      assertEquals(WASK, patient.sentCmds(), "at " + at);
      wait = Math.min(wait + wait / 2, 120_000);
    }
    assertEquals(120_000, wait);
    assertNull(patient.kcp.failure());
  }

  @Test
  void probingRestartsWhenTheWindowClosesAgain() {
    driven.peerWnd = 0;
    driven.receiveBatch(driven.wins());
    driven.sendSegments(2);
    driven.runTo(3000);
    driven.sent();
    driven.peerWnd = 1;
    driven.receiveBatch(driven.wins());
    acknowledgeAll(driven, 1, 0);
    driven.sent();
    driven.runTo(3499);
    assertEquals(List.of(), driven.sentCmds());
    driven.runTo(3500);
    assertEquals(WASK, driven.sentCmds());
  }

  @Test
  void probeIsAnsweredAtOnceHoweverOftenItStandsInADatagram() {
    driven.receiveBatch(driven.wask(), driven.wask(), driven.wask());
    List<SentSegment> sent = driven.sent();
    assertEquals(1, sent.size());
    assertEquals(Segment.WINS, sent.get(0).cmd());
    assertEquals(256, sent.get(0).wnd());
  }

  @Test
  void readFromAFullQueueSendsAWindowUpdateAtOnce() {
    DrivenKcp narrow = new DrivenKcp(KcpConfig.builder().receiveWindow(2));
    narrow.receiveBatch(narrow.push(0, bytes(9)));
    narrow.receiveAll();
    narrow.kcp.afterSend(narrow.nowMs, narrow);
    assertEquals(List.of(), narrow.sentSns(Segment.WINS), "it was not full");
    narrow.receiveBatch(narrow.push(1, bytes(9)), narrow.push(2, bytes(9)));
    assertEquals(0, narrow.sent().get(0).wnd());
    narrow.receiveAll();
    narrow.kcp.afterSend(narrow.nowMs, narrow);
    SentSegment told = narrow.sent().get(0);
    assertEquals(Segment.WINS, told.cmd());
    assertEquals(2, told.wnd());
  }

  @Test
  void unreadSegmentsShrinkTheAdvertisedWindow() {
    driven.receiveBatch(
        driven.push(0, bytes(9)), driven.push(1, bytes(9)), driven.push(5, bytes(9)));
    driven.runTo(20);
    assertEquals(254, driven.sent().get(0).wnd());
  }

  @Test
  void segmentsOfTheWindowAreKeptWhileTheQueueIsFull() {
    DrivenKcp narrow = new DrivenKcp(KcpConfig.builder().receiveWindow(2));
    narrow.receiveBatch(narrow.push(0, bytes(1)), narrow.push(1, bytes(1)));
    narrow.receiveBatch(
        narrow.push(2, bytes(1)), narrow.push(3, bytes(1)), narrow.push(4, bytes(1)));
    assertEquals(1, narrow.count(KcpCounter.OUT_OF_WINDOW));
    assertEquals(4, narrow.receiveAll().readableBytes());
  }

  @Test
  void staleWindowOfAnOvertakenDatagramIsIgnored() {
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
  void segmentsInFlightAreRetransmittedIntoAClosedWindow() {
    driven.sendSegments(2);
    acknowledgeAll(driven, 1, 0);
    driven.sent();
    driven.runTo(driven.nowMs + 200);
    assertEquals(List.of(1), driven.sentSns(Segment.PUSH));
  }

  @Test
  void stalledWriterFailsAfterItsTimeout() {
    DrivenKcp stalled = new DrivenKcp(KcpConfig.builder().writeStallTimeoutMs(10_000));
    stalled.peerWnd = 0;
    stalled.receiveBatch(stalled.wins());
    stalled.runTo(7000);
    stalled.sendSegments(1);
    stalled.runTo(16_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(17_000);
    assertEquals(KcpFailure.WRITE_STALLED, stalled.kcp.failure());
  }

  /** A session with 200 segments queued whose peer has just closed its window of 128. */
  private DrivenKcp closed() {
    DrivenKcp stalled = new DrivenKcp(KcpConfig.builder().deadLink(0).progressTimeoutMs(0));
    stalled.receiveBatch(stalled.wins());
    stalled.peerWnd = 0;
    stalled.peerUna = 1;
    stalled.sendSegments(1);
    stalled.receiveBatch(stalled.wins());
    stalled.sendSegments(200);
    return stalled;
  }

  /** The peer takes so many segments one by one and closes its window again. */
  private void take(DrivenKcp stalled, int segments) {
    for (int i = 0; i < segments; i++) {
      stalled.peerWnd = 1;
      stalled.receiveBatch(stalled.wins());
      acknowledgeAll(stalled, stalled.peerUna + 1, 0);
    }
  }

  @Test
  void writersWaitAMinuteForAPeerThatTakesNothing() {
    DrivenKcp stalled = closed();
    stalled.runTo(59_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(60_000);
    assertEquals(KcpFailure.WRITE_STALLED, stalled.kcp.failure());
  }

  @Test
  void peerThatTakesASegmentNowAndThenIsStalledNevertheless() {
    DrivenKcp stalled = closed();
    for (int s = 8; s < 60; s += 8) {
      stalled.runTo(1000L * s);
      take(stalled, 1);
    }
    stalled.runTo(59_999);
    assertNull(stalled.kcp.failure());
    stalled.runTo(60_000);
    assertEquals(KcpFailure.WRITE_STALLED, stalled.kcp.failure());
  }

  @Test
  void slowReaderThatTakesASixteenthOfItsWindowInAMinuteIsNotStalled() {
    DrivenKcp slow = closed();
    for (int minute = 1; minute <= 10; minute++) {
      slow.runTo(59_000L * minute);
      take(slow, 128 / 16);
    }
    assertNull(slow.kcp.failure());
  }

  @Test
  void windowThatOpensWideRestartsTheStallTimeoutOnce() {
    DrivenKcp paused = closed();
    paused.runTo(59_000);
    acknowledgeAll(paused, 1, 128);
    acknowledgeAll(paused, 2, 0);
    // The peer takes no more than one of those in flight now and then.
    for (int s = 65; s < 115; s += 10) {
      paused.runTo(1000L * s);
      acknowledgeAll(paused, paused.peerUna, 100);
      acknowledgeAll(paused, paused.peerUna + 1, 0);
    }
    assertNull(paused.kcp.failure());
    paused.runTo(119_000);
    assertEquals(KcpFailure.WRITE_STALLED, paused.kcp.failure());
  }

  @Test
  void windowThatOpensForGoodEndsTheStall() {
    DrivenKcp paused = closed();
    paused.runTo(59_000);
    for (int una = 1; una < 200; una += 2, paused.runTo(paused.nowMs + 1000)) {
      acknowledgeAll(paused, una, 128);
    }
    assertNull(paused.kcp.failure());
  }

  @Test
  void timeInWhichNobodyDroveTheSessionIsNoStall() {
    DrivenKcp stalled = closed();
    stalled.runTo(400);
    stalled.nowMs = 1_000_000; // a pause of the whole process, before the first probe at 500
    stalled.runTo(1_059_499);
    assertNull(stalled.kcp.failure());
    stalled.runTo(1_059_500);
    assertEquals(KcpFailure.WRITE_STALLED, stalled.kcp.failure());
  }

  @Test
  void congestionWindowLimitsWhatIsInFlight() {
    DrivenKcp polite = new DrivenKcp(KcpConfig.builder().congestionControl(CongestionControl.RENO));
    polite.sendSegments(8);
    assertEquals(List.of(0), polite.sentSns(Segment.PUSH));
    acknowledgeAll(polite, 1, 128);
    assertEquals(List.of(1, 2), polite.sentSns(Segment.PUSH));
    polite.runTo(polite.nowMs + 200);
    assertEquals(1, polite.kcp.stats().congestionWindow(), "after a timeout");
  }
}
