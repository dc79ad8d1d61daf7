package io.kcp4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What path challenges may send to an address that may be forged: protocol.md 8.7. */
class ChallengeAllowanceTest {

  private static final int CHALLENGE_BYTES = 24;

  private int allowedBytes = 1_000;
  private int excesses;

  private final SendLimit limit =
      new SendLimit(
          new DrivenKcp(KcpConfig.DEFAULT).kcp,
          new SendAllowance() {
            @Override
            public long bytes() {
              return allowedBytes;
            }

            @Override
            public boolean mayFirstExceed() {
              return true;
            }

            @Override
            public boolean takeFirstExcess() {
              return takeFurtherExcess();
            }

            @Override
            public boolean takeFurtherExcess() {
              excesses++;
              return true;
            }
          });

  @Test
  void challengeWithinTheAllowanceUsesItUp() {
    assertTrue(limit.allowChallenge(CHALLENGE_BYTES, CHALLENGE_BYTES, 0));
    assertEquals(0, excesses);
    assertTrue(limit.isAllowed(1_000));
    assertFalse(limit.isAllowed(1_001));
  }

  @Test
  void challengeBeyondTheAllowanceLeavesWhatIsReceivedLaterToOthers() {
    allowedBytes = 0;
    assertTrue(limit.allowChallenge(CHALLENGE_BYTES, CHALLENGE_BYTES, 0));
    assertEquals(1, excesses);
    allowedBytes = 1_000 - CHALLENGE_BYTES; // It has been sent, and more was received.
    assertTrue(limit.isAllowed(1_000));
    assertFalse(limit.isAllowed(1_001));
  }
}
