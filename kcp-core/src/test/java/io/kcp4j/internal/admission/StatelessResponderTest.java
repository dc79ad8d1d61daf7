package io.kcp4j.internal.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Crowd;
import org.junit.jupiter.api.Test;

/** {@link StatelessResponder}: which queries are answered: protocol.md 13.5.3. */
class StatelessResponderTest {

  private final StatelessResponder.AnswerLimits limits =
      new StatelessResponder.AnswerLimits(new SessionKey.Hash(1), 0);
  private long nowUs;
  private int sent;

  /** 20,000 queries a second that name no session, each from the next of some addresses. */
  private int flood(int ms, int networks) {
    int answered = 0;
    for (int i = 0; i < 20 * ms; i++) {
      nowUs += 50;
      answered += limits.takeForUnknown(Crowd.address(256 * (sent++ % networks), 9), nowUs) ? 1 : 0;
    }
    return answered;
  }

  @Test
  void queriesThatNameASessionHaveABudgetOfTheirOwn() {
    flood(1_000, 1);
    for (int i = 0; i < 1_000; i++) {
      assertTrue(limits.takeForSession(nowUs));
    }
    assertFalse(limits.takeForSession(nowUs));
    assertTrue(limits.takeForEnded(nowUs));
  }

  @Test
  void queriesOfOneNetworkDoNotTakeTheAnswersOfOthers() {
    flood(1_000, 1);
    for (int i = 0; i < 20; i++) {
      flood(50, 1);
      assertTrue(limits.takeForUnknown(Crowd.address(256 * (10 + i), 9), nowUs), "client " + i);
    }
  }

  @Test
  void queriesOfManyNetworksAreAnsweredAtRandom() {
    flood(1_000, 16_384);
    int answered = 0;
    for (int i = 0; i < 400; i++) {
      flood(50, 16_384);
      answered += limits.takeForUnknown(Crowd.address(256 * 20_000, 9), nowUs) ? 1 : 0;
    }
    assertTrue(answered >= 5 && answered <= 40, answered + " of 400, of 20 expected");
  }

  @Test
  void noMoreThanTwoBudgetsAreAnswered() {
    flood(1_000, 16);
    int answered = flood(10_000, 16);
    assertTrue(answered >= 12_000 && answered <= 22_000, answered + " in 10 s");
  }

  @Test
  void allOfAFewClientsOfOneNetworkAreAnswered() {
    int answered = 0;
    for (int i = 0; i < 300; i++) {
      answered += limits.takeForUnknown(Crowd.address(i % 256, 9), nowUs) ? 1 : 0;
    }
    assertEquals(300, answered);
  }
}
