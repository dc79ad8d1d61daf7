package io.kcp4j.internal.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.path.SessionKey;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** {@link StatelessRetry}: the clients that have answered a challenge. */
class StatelessRetryTest {

  private static final int CLIENTS = 100;

  private final StatelessRetry.AnsweredChallenges answered =
      new StatelessRetry.AnsweredChallenges();

  private static SessionKey client(int number) {
    return new SessionKey(new InetSocketAddress(NetUtil.intToIpAddress(number), 5), number);
  }

  @Test
  void clientIsRememberedUntilItComesAgain() {
    answered.add(client(1), 0);
    assertFalse(answered.remove(client(2), 1_000));
    assertTrue(answered.remove(client(1), 1_000));
    assertFalse(answered.remove(client(1), 1_000));
  }

  @Test
  void clientIsForgottenAfterTwoPeriods() {
    answered.add(client(1), 7_000_000);
    assertTrue(answered.remove(client(1), 15_000_000));
    answered.add(client(1), 7_000_000);
    assertFalse(answered.remove(client(1), 16_000_000));
  }

  /** In every third run, two of them had the same place, and only one was remembered. */
  @Test
  void clientsThatAnswerAtOnceAreAllRemembered() {
    for (int round = 0; round < 20; round++) {
      int first = 1 + round * CLIENTS;
      IntStream.range(first, first + CLIENTS).forEach(i -> answered.add(client(i), 0));
      long remembered =
          IntStream.range(first, first + CLIENTS)
              .filter(i -> answered.remove(client(i), 1_000))
              .count();
      assertEquals(CLIENTS, remembered);
    }
  }

  @Test
  void clientThatAnswersAgainIsRememberedLongerAndOnce() {
    answered.add(client(1), 100_000_000);
    answered.add(client(1), 101_000_000);
    answered.add(client(1), 109_000_000);
    assertTrue(answered.remove(client(1), 119_000_000));
    answered.add(client(2), 120_000_000);
    answered.add(client(2), 120_000_000);
    assertTrue(answered.remove(client(2), 120_000_000));
    assertFalse(answered.remove(client(2), 120_000_000));
  }

  /** There is room for 16384: where a bucket is full, the new client takes a place in it. */
  @Test
  void moreClientsThanThereIsRoomForReplaceOthers() {
    int clients = 40_000;
    for (int i = 1; i <= clients; i++) {
      answered.add(client(i), 100_000_000);
      assertTrue(i % 100 != 0 || answered.remove(client(i), 100_000_000), "the newest");
    }
    long remembered =
        IntStream.rangeClosed(1, clients)
            .filter(i -> answered.remove(client(i), 100_000_001))
            .count();
    assertTrue(remembered > 14_000 && remembered <= 16_384, "" + remembered);
    assertFalse(answered.remove(client(clients), 100_000_001));
  }
}
