package io.kcp4j.internal.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import org.junit.jupiter.api.Test;

/** {@link Offers.Token} alone: protocol.md 13.6.2. */
class OffersTest {

  private static final long FIRST = 11;

  private final Offers.Token token = new Offers.Token(FIRST);
  private final KcpCounters counters = new KcpCounters();

  private void retry(long next) {
    assertTrue(token.take(token.present(), true));
    assertTrue(token.replace(next, counters));
    assertEquals(next, token.present());
  }

  @Test
  void onlyTheTokenItselfCountsWithoutARetry() {
    assertTrue(token.take(FIRST, true));
    assertFalse(token.take(FIRST + 1, true));
    assertFalse(token.take(0, true));
  }

  /** Answers to offers under way, and to the first ones, come after a retry. */
  @Test
  void tokensOfTheFirstOffersAndOfThoseBeforeTheLastRetryCountWhileOffering() {
    retry(22);
    retry(33);
    retry(44);
    assertTrue(token.take(44, true));
    assertTrue(token.take(33, true));
    assertFalse(token.take(22, true));
    assertTrue(token.take(FIRST, true));
    assertEquals(44, token.present());
    assertEquals(FIRST, token.first());
  }

  @Test
  void onlyThePresentTokenCountsAfterOffering() {
    retry(22);
    retry(33);
    assertFalse(token.take(FIRST, false));
    assertFalse(token.take(22, false));
    assertTrue(token.take(33, false));
  }

  /** A retry to an earlier offer is a late one, or a repeated one. */
  @Test
  void retryThatShowsAnEarlierTokenReplacesNothing() {
    retry(22);
    assertTrue(token.take(FIRST, true));
    assertFalse(token.replace(99, counters));
    assertEquals(22, token.present());
    retry(33);
  }

  @Test
  void answerToAnEarlierOfferMakesItsTokenThePresentOne() {
    retry(22);
    retry(33);
    assertTrue(token.take(22, true));
    token.confirm();
    assertEquals(22, token.present());
    assertTrue(token.take(22, false));
    assertFalse(token.take(33, false));
  }

  @Test
  void tokenThatIsRefusedIsNotTakenForShown() {
    retry(22);
    assertTrue(token.take(22, true));
    assertFalse(token.take(99, true));
    token.confirm();
    assertEquals(22, token.present());
  }
}
