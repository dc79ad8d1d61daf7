package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

class SmuxKeepAliveTest {

  private static DrivenSmux defaults() {
    return new DrivenSmux(SmuxConfig.DEFAULT, true);
  }

  @Test
  void keepAliveFrameLeavesEveryTenSeconds() throws SmuxException {
    DrivenSmux driven = defaults();
    for (int i = 0; i < 10; i++) {
      driven.receive(driven.nop());
      driven.runFor(9_999);
      assertEquals(List.of(), driven.sent());
      driven.runFor(1);
      assertEquals(List.of("NOP"), driven.sent());
    }
  }

  @Test
  void keepAliveFramesDoNotAddUpWhileNothingLeaves() throws SmuxException {
    DrivenSmux driven = defaults();
    for (int i = 0; i < 10; i++) {
      driven.receive(driven.nop());
      driven.runFor(10_000);
    }
    assertEquals(List.of("NOP"), driven.sent());
    assertEquals(1, driven.frameReadyCalls);
  }

  @Test
  void sessionFailsWhenNothingIsReceivedForThirtySeconds() throws SmuxException {
    DrivenSmux driven = defaults();
    driven.runFor(29_999);
    driven.receive(driven.nop());
    driven.runFor(29_999);
    assertThrows(SmuxException.class, () -> driven.runFor(1));
  }

  @Test
  void sessionThatDoesNotReadDoesNotFail() throws SmuxException {
    DrivenSmux driven =
        new DrivenSmux(
            SmuxConfig.builder().version(1).maxReceiveBuffer(1000).maxStreamBuffer(1000), false);
    driven.receive(driven.syn(3));
    TestStream user = driven.accepted.get(0);
    user.isReading = false;
    driven.receive(driven.psh(3, 1000));
    driven.runFor(300_000);
    user.readAll();
    driven.runFor(29_999);
    assertThrows(SmuxException.class, () -> driven.runFor(1));
  }

  @Test
  void pauseOfTheDriverDoesNotCountAgainstThePeer() throws SmuxException {
    DrivenSmux driven = defaults();
    driven.runFor(5_000);
    driven.nowMs += 60_000;
    driven.session.runTimers(driven.nowMs);
    driven.receive(driven.nop());
    driven.runFor(29_999);
    assertThrows(SmuxException.class, () -> driven.runFor(1));
  }

  @Test
  void bothCanBeSwitchedOff() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    driven.runFor(1_000_000);
    assertEquals(List.of(), driven.sent());
    DrivenSmux noTimeout = new DrivenSmux(SmuxConfig.builder().keepAliveTimeoutMs(0), true);
    noTimeout.runFor(1_000_000);
    assertEquals(List.of("NOP"), noTimeout.sent());
    DrivenSmux noFrames = new DrivenSmux(SmuxConfig.builder().keepAliveMs(0), true);
    assertThrows(SmuxException.class, () -> noFrames.runFor(30_000));
    assertEquals(List.of(), noFrames.sent());
  }

  @Test
  void nextCallOfTimersIsAtMostFiveSecondsAway() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    assertEquals(5_000, driven.session.runTimers(driven.nowMs));
    DrivenSmux quick = new DrivenSmux(DrivenSmux.config().closeTimeoutMs(100), true);
    assertEquals(100, quick.session.runTimers(quick.nowMs));
    DrivenSmux defaults = defaults();
    defaults.nowMs += 9_000;
    long delayMs = defaults.session.runTimers(defaults.nowMs);
    assertTrue(delayMs <= 1_000, delayMs + " ms");
  }
}
