package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import io.kcp4j.internal.path.AmplificationLimit;
import io.kcp4j.internal.path.AmplificationLimit.Kind;
import io.kcp4j.internal.wire.Segment;
import org.junit.jupiter.api.Test;

/** What path challenges may send to an address that may be forged: protocol.md 8.7. */
class ChallengeAllowanceTest {

  private static final int CHALLENGE_BYTES = 24;

  private int allowedBytes = 1_000;
  private int excesses;

  private final AmplificationLimit limit =
      new AmplificationLimit(
          new AmplificationLimit.Allowance() {
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
          },
          new KcpCounters());

  private boolean challenge() {
    return limit.mayLeave(
        Kind.CHALLENGE, CHALLENGE_BYTES, CHALLENGE_BYTES, Segment.HEADER_BYTES, 0);
  }

  @Test
  void challengeWithinTheAllowanceUsesItUp() {
    assertTrue(challenge());
    assertEquals(0, excesses);
    assertEquals(1_000, limit.roomBytes());
  }

  @Test
  void challengeBeyondTheAllowanceLeavesWhatIsReceivedLaterToOthers() {
    allowedBytes = 0;
    assertTrue(challenge());
    assertEquals(1, excesses);
    allowedBytes = 1_000 - CHALLENGE_BYTES; // It has been sent, and more was received.
    assertEquals(1_000, limit.roomBytes());
  }
}
