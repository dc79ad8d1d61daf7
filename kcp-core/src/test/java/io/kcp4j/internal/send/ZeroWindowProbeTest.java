package io.kcp4j.internal.send;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.wire.Time;
import org.junit.jupiter.api.Test;

/** {@link ZeroWindowProbe} alone. */
class ZeroWindowProbeTest {

  private final ZeroWindowProbe probe = new ZeroWindowProbe();

  @Test
  void restsUntilItIsNeeded() {
    assertFalse(probe.take(1_000_000_000));
    assertEquals(Time.NO_DEADLINE, probe.nextAtUs());
  }

  @Test
  void firstProbeIsDueAfterHalfASecondAndTheNextWaitsHalfAsLongAgain() {
    probe.update(true, 1_000_000);
    assertFalse(probe.take(1_499_999));
    assertTrue(probe.take(1_500_000));
    assertFalse(probe.take(1_500_000));
    assertEquals(2_250_000, probe.nextAtUs());
  }

  @Test
  void neverWaitsLongerThanTwoMinutes() {
    probe.update(true, 0);
    for (int i = 0; i < 50; i++) {
      assertTrue(probe.take(probe.nextAtUs()));
    }
    long last = probe.nextAtUs();
    probe.take(last);
    assertEquals(last + 120_000_000, probe.nextAtUs());
  }

  @Test
  void lateProbeIsSentOnce() {
    probe.update(true, 0);
    assertTrue(probe.take(60_000_000));
    assertEquals(60_750_000, probe.nextAtUs());
  }

  @Test
  void restartsAfterARest() {
    probe.update(true, 0);
    probe.take(500_000);
    probe.update(false, 600_000);
    assertEquals(Time.NO_DEADLINE, probe.nextAtUs());
    probe.update(true, 700_000);
    assertEquals(1_200_000, probe.nextAtUs());
  }

  @Test
  void requestedProbeIsSentOnceAndAwaitsAnAnswer() {
    assertFalse(probe.isUnanswered());
    probe.request();
    assertTrue(probe.take(0));
    assertTrue(probe.isUnanswered());
    assertFalse(probe.take(1));
    assertTrue(probe.isUnanswered(), "until something is received");
    probe.answered();
    assertFalse(probe.isUnanswered());
  }

  // Challenges

  @Test
  void challengeIsWrittenOnceAndNeedsNoProbe() {
    assertFalse(probe.takeChallenge(100));
    probe.requestChallenge();
    assertTrue(probe.isRequested());
    assertFalse(probe.take(0));
    assertTrue(probe.takeChallenge(100));
    assertFalse(probe.takeChallenge(101));
  }

  /** Before and after it, a timestamp is a recorded or a forged one. */
  @Test
  void timestampBetweenTheChallengeAndNowAnswersItOnce() {
    int sentTs = Integer.MAX_VALUE; // Timestamps wrap.
    assertFalse(probe.takeAnswer(sentTs, sentTs), "nothing was asked");
    probe.requestChallenge();
    assertTrue(probe.takeChallenge(sentTs));
    assertFalse(probe.takeAnswer(sentTs - 1, sentTs + 50));
    assertFalse(probe.takeAnswer(sentTs + 51, sentTs + 50));
    assertTrue(probe.takeAnswer(sentTs, sentTs + 50));
    assertFalse(probe.takeAnswer(sentTs, sentTs + 50), "answered before");
    probe.requestChallenge();
    assertTrue(probe.takeChallenge(sentTs + 100));
    assertFalse(probe.takeAnswer(sentTs + 99, sentTs + 200), "an answer of the first one");
    assertTrue(probe.takeAnswer(sentTs + 200, sentTs + 200));
  }

  @Test
  void lateAnswerToAnEarlierChallengeCounts() {
    probe.requestChallenge();
    assertTrue(probe.takeChallenge(100));
    probe.requestChallenge();
    assertTrue(probe.takeChallenge(200));
    assertTrue(probe.takeAnswer(100, 250));
  }
}
