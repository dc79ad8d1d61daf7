package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link SendBudget} alone: of 4000 bytes, ten streams have 100 each, and share 2999. */
class SendBudgetTest {

  private static final int STREAMS = 10;
  private static final int SHARE = 100;
  private static final int SHARED = 2_999;
  private static final int WINDOW = 1_000;

  private final SendBudget budget = new SendBudget(4_000, STREAMS);

  private void send(SendWindow stream, int bytes) {
    stream.sent(bytes);
    budget.sent(bytes);
  }

  /** A stream whose peer has reported that it has read all. */
  private SendWindow reported() {
    SendWindow stream = new SendWindow();
    stream.sent(10);
    assertEquals(10, stream.update(10, WINDOW));
    return stream;
  }

  @Test
  void streamMayHaveTheSharedPartAndAlwaysItsOwn() {
    SendWindow first = new SendWindow();
    assertEquals(SHARED, budget.available(first));
    send(first, SHARED - SHARE);
    assertEquals(SHARE, budget.available(first));
    send(first, 1);
    assertEquals(0, budget.available(first), "less than a share is left");
    SendWindow second = new SendWindow();
    assertEquals(SHARE, budget.available(second));
    send(second, SHARE - 1);
    assertEquals(1, budget.available(second));
    send(second, 1);
    assertEquals(0, budget.available(second));
    budget.released(SHARE + 1);
    assertEquals(SHARE, budget.available(second));
  }

  /** Such a peer may have read nearly half a window without a report. */
  @Test
  void whatAPeerMayNotReportComesOnTopOfTheStreamsOwnPart() {
    SendWindow stream = reported();
    send(new SendWindow(), SHARED);
    assertEquals(WINDOW / 2 - 1 + SHARE, budget.available(stream));
    assertFalse(budget.isPeerEarly());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void streamsThatAreNotReadNeverFillTheBuffer(boolean isPeerEarly) {
    assertEquals(isPeerEarly, isPeerEarly && budget.reportedEarly(WINDOW));
    List<SendWindow> streams = new ArrayList<>();
    for (int i = 0; i < STREAMS; i++) {
      streams.add(new SendWindow());
    }
    for (SendWindow stream : streams) {
      for (int bytes; (bytes = budget.available(stream)) > 0; ) {
        send(stream, Math.min(bytes, 70));
      }
    }
    assertTrue(budget.outstanding() < 4_000, "" + budget.outstanding());
    assertTrue(streams.stream().allMatch(stream -> stream.outstanding() >= SHARE));
  }

  @Test
  void streamMayHaveTwiceWhatIsLeftIfThePeerReportsEarly() {
    assertTrue(budget.reportedEarly(WINDOW));
    SendWindow first = new SendWindow();
    assertEquals(2 * SHARED / 3, budget.available(first));
    send(first, 2 * SHARED / 3);
    assertEquals(0, budget.available(first));
    SendWindow second = new SendWindow();
    assertEquals(2 * (SHARED - 2 * SHARED / 3) / 3, budget.available(second));
    send(first, 850);
    assertEquals(SHARE, budget.available(second), "its own part is more");
    SendWindow third = reported();
    assertEquals(SHARE, budget.available(third), "all is reported by such a peer");
  }

  @Test
  void earlyReportsCountIfTheSharedPartHasAWindow() {
    assertFalse(budget.reportedEarly(SHARED + 1));
    assertFalse(budget.isPeerEarly());
    assertTrue(budget.reportedEarly(SHARED));
    assertTrue(budget.isPeerEarly());
  }

  // Which window updates are early

  @Test
  void reportOfLessThanHalfAWindowIsEarlyUnlessItIsTheFirst() {
    SendWindow stream = new SendWindow();
    stream.sent(2_000);
    assertFalse(stream.isEarly(1, WINDOW), "the first");
    stream.update(1, WINDOW);
    assertTrue(stream.isEarly(1, WINDOW), "a repeated one");
    assertTrue(stream.isEarly(1 + WINDOW / 2 - 1, WINDOW));
    assertFalse(stream.isEarly(1 + WINDOW / 2, WINDOW));
    assertFalse(stream.isEarly(0, WINDOW), "one that is late");
    assertTrue(stream.isEarly(2_000, 10_000));
    assertFalse(stream.isEarly(2_001, 10_000), "more than was sent");
  }
}
