package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongConsumer;
import org.junit.jupiter.api.Test;

/** {@link TimerWheel} alone, and against a sorted model. */
class TimerWheelTest {

  private final TimerWheel wheel = new TimerWheel(0);
  private final List<String> expired = new ArrayList<>();

  private final class Named extends TimerWheel.Timer {
    private final String name;
    private final LongConsumer action;

    Named(String name, LongConsumer action) {
      this.name = name;
      this.action = action;
    }

    Named(String name) {
      this(name, now -> {});
    }

    @Override
    protected void expire(long nowUs) {
      expired.add(name + "@" + nowUs);
      action.accept(nowUs);
    }
  }

  @Test
  void emptyWheelHasNoDeadline() {
    assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
    wheel.advance(1_000_000_000);
    assertEquals(0, wheel.size());
  }

  @Test
  void timerExpiresAtItsDeadlineAndNotBefore() {
    wheel.arm(new Named("a"), 100_000);
    assertEquals(100_000, wheel.nextDeadline());
    wheel.advance(99_999);
    assertEquals(List.of(), expired);
    wheel.advance(100_000);
    assertEquals(List.of("a@100000"), expired);
    assertEquals(0, wheel.size());
  }

  @Test
  void timerWithAPastDeadlineExpiresInTheNextAdvance() {
    wheel.advance(500_000);
    wheel.arm(new Named("a"), 20_000);
    assertEquals(500_000, wheel.nextDeadline());
    wheel.advance(500_000);
    assertEquals(List.of("a@500000"), expired);
  }

  @Test
  void deadlineWithinATickIsRoundedUp() {
    for (int deadlineUs = 1; deadlineUs <= 1_000; deadlineUs++) {
      TimerWheel wheel = new TimerWheel(0);
      expired.clear();
      wheel.arm(new Named("a"), deadlineUs);
      assertEquals(1_000, wheel.nextDeadline());
      wheel.advance(deadlineUs - 1);
      wheel.advance(999);
      assertEquals(List.of(), expired);
      wheel.advance(1_000);
      assertEquals(List.of("a@1000"), expired);
    }
    wheel.arm(new Named("b"), 1_001);
    assertEquals(2_000, wheel.nextDeadline());
  }

  @Test
  void deadlinesOfOneTickExpireTogetherAtItsEnd() {
    wheel.advance(4_321);
    wheel.arm(new Named("last"), 5_000);
    wheel.arm(new Named("passed"), 4_320);
    wheel.arm(new Named("present"), 4_321);
    wheel.arm(new Named("later"), 5_001);
    assertEquals(5_000, wheel.nextDeadline());
    wheel.advance(4_999);
    assertEquals(List.of(), expired);
    wheel.advance(5_500);
    assertEquals(3, expired.size());
    assertFalse(expired.contains("later@5500"));
    assertEquals(6_000, wheel.nextDeadline());
    wheel.advance(6_000);
    assertEquals("later@6000", expired.get(3));
  }

  @Test
  void timerWhoseTickHasPassedExpiresWithinTheCurrentTick() {
    wheel.advance(4_321);
    wheel.arm(new Named("a"), 4_000);
    wheel.arm(new Named("b"), 3_999);
    assertEquals(4_000, wheel.nextDeadline());
    wheel.advance(4_321);
    assertEquals(2, expired.size());
  }

  @Test
  void timerThatIsMovedWithinItsTickKeepsTheLaterDeadline() {
    Named a = new Named("a");
    wheel.arm(a, 1_100);
    wheel.arm(a, 1_900);
    wheel.advance(1_950);
    assertEquals(List.of(), expired);
    wheel.arm(a, 2_001);
    wheel.advance(2_999);
    assertEquals(List.of(), expired);
    wheel.advance(3_000);
    assertEquals(List.of("a@3000"), expired);
  }

  @Test
  void deadlineWithinATickBeyondTheRangeIsRoundedUp() {
    wheel.arm(new Named("a"), 5_000_001);
    long now = 0;
    while (expired.isEmpty()) {
      assertTrue(wheel.nextDeadline() > now);
      now = wheel.nextDeadline();
      wheel.advance(now - 1);
      wheel.advance(now);
    }
    assertEquals(List.of("a@5001000"), expired);
  }

  @Test
  void wheelMayStartWithinATickAndBeforeTimeZero() {
    TimerWheel wheel = new TimerWheel(-1_500);
    wheel.arm(new Named("a"), -1_200);
    wheel.arm(new Named("b"), -999);
    assertEquals(-1_000, wheel.nextDeadline());
    wheel.advance(-1_001);
    assertEquals(List.of(), expired);
    wheel.advance(-1_000);
    assertEquals(List.of("a@-1000"), expired);
    assertEquals(0, wheel.nextDeadline());
    wheel.advance(-1);
    assertEquals(1, expired.size());
    wheel.advance(0);
    assertEquals("b@0", expired.get(1));
  }

  @Test
  void armedTimerCanBeMovedAndCancelled() {
    Named a = new Named("a");
    wheel.arm(a, 100_000);
    wheel.arm(a, 50_000);
    wheel.arm(a, 200_000);
    assertEquals(1, wheel.size());
    wheel.advance(199_999);
    assertEquals(List.of(), expired);
    wheel.cancel(a);
    wheel.cancel(a);
    assertEquals(0, wheel.size());
    wheel.advance(1_000_000);
    assertEquals(List.of(), expired);
  }

  @Test
  void deadlineBeyondTheRangeOfTheWheelWaits() {
    wheel.arm(new Named("a"), 10_000_000);
    long now = 0;
    int wakes = 0;
    while (expired.isEmpty()) {
      assertTrue(wheel.nextDeadline() > now);
      now = wheel.nextDeadline();
      wheel.advance(now);
      wakes++;
    }
    assertEquals(List.of("a@10000000"), expired);
    assertTrue(wakes <= 11, "wakes: " + wakes);
  }

  @Test
  void everythingThatIsDueExpiresInALateAdvance() {
    for (int tick : new int[] {1, 63, 64, 1023, 1024, 5000}) {
      wheel.arm(new Named("" + tick), 1_000L * tick);
    }
    wheel.arm(new Named("later"), 9_001_000);
    wheel.advance(9_000_999);
    assertEquals(6, expired.size());
    assertEquals(1, wheel.size());
    wheel.advance(9_001_000);
    assertEquals("later@9001000", expired.get(6));
  }

  @Test
  void coarseTicksExpireUpToOneTickLateAndNeverEarly() {
    TimerWheel coarse = new TimerWheel(0, 1_000_000, 64);
    coarse.arm(new Named("a"), 1_000_001);
    coarse.arm(new Named("b"), 2_000_000);
    assertEquals(2_000_000, coarse.nextDeadline());
    coarse.advance(1_999_999);
    assertEquals(List.of(), expired);
    coarse.advance(2_000_000);
    assertEquals(2, expired.size());
  }

  @Test
  void expiringTimerMayCancelAndArmOthersOfItsTick() {
    Named[] entries = new Named[3];
    entries[0] = new Named("0", now -> wheel.cancel(entries[1]));
    entries[1] = new Named("1", now -> wheel.cancel(entries[0]));
    entries[2] = new Named("2", now -> wheel.arm(entries[2], now + 5_000));
    for (Named entry : entries) {
      wheel.arm(entry, 10_000);
    }
    wheel.advance(10_000);
    assertEquals(2, expired.size(), "one of 0 and 1 has cancelled the other");
    assertEquals(1, wheel.size());
    wheel.advance(15_000);
    assertEquals("2@15000", expired.get(2));
  }

  @Test
  void timerThatArmsItselfForThePastDoesNotBlockAdvance() {
    Named[] self = new Named[1];
    self[0] = new Named("a", now -> wheel.arm(self[0], now - 1_000));
    wheel.arm(self[0], 10_000);
    wheel.advance(10_000);
    int once = expired.size();
    assertTrue(once <= 2, "times: " + once);
    assertEquals(10_000, wheel.nextDeadline());
    wheel.advance(11_000);
    assertTrue(expired.size() > once);
  }

  @Test
  void nextDeadlineCanBeCalledWhileTimersExpire() {
    List<Long> deadlines = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      wheel.arm(new Named("" + i, now -> deadlines.add(wheel.nextDeadline())), 10_000);
    }
    wheel.advance(10_000);
    assertEquals(List.of(10_000L, 10_000L, Long.MAX_VALUE), deadlines);
  }

  @Test
  void timerThatThrowsLeavesTheOthersToTheNextAdvance() {
    for (int i = 0; i < 3; i++) {
      wheel.arm(
          new Named(
              "" + i,
              now -> {
                if (expired.size() == 1) {
                  throw new IllegalStateException();
                }
              }),
          10_000);
    }
    assertThrows(IllegalStateException.class, () -> wheel.advance(10_000));
    assertEquals(10_000, wheel.nextDeadline());
    wheel.advance(11_000);
    assertEquals(3, expired.size());
    assertEquals(0, wheel.size());
  }

  @Test
  void timerThatThrowsBlocksNoLaterSlot() {
    Named thrower =
        new Named(
            "thrower",
            now -> {
              throw new IllegalStateException();
            });
    wheel.arm(thrower, 10_000);
    wheel.arm(new Named("later"), 11_000);
    assertThrows(IllegalStateException.class, () -> wheel.advance(20_000));
    assertEquals(11_000, wheel.nextDeadline());
    wheel.advance(20_000);
    assertEquals(List.of("thrower@20000", "later@20000"), expired);
  }

  @Test
  void advanceExpiresABoundedNumberAndTheNextTheOthers() {
    for (int i = 0; i < 5; i++) {
      wheel.arm(new Named("" + i), i < 3 ? 10_000 : 11_000);
    }
    assertTrue(wheel.advance(20_000, 2));
    assertEquals(2, expired.size());
    assertEquals(20_000, wheel.nextDeadline());
    assertTrue(wheel.advance(21_000, 2));
    assertEquals(4, expired.size());
    assertFalse(wheel.advance(22_000, 2));
    assertEquals(5, expired.size());
    assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
  }

  @Test
  void nothingIsLeftWhenTheBoundIsJustReached() {
    wheel.arm(new Named("a"), 10_000);
    wheel.arm(new Named("b"), 11_000);
    wheel.arm(new Named("later"), 30_000);
    assertFalse(wheel.advance(20_000, 2));
    assertEquals(List.of("a@20000", "b@20000"), expired);
    assertEquals(30_000, wheel.nextDeadline());
  }

  @Test
  void numberOfSlotsIsAPowerOfTwoOfAtLeast64() {
    assertThrows(IllegalArgumentException.class, () -> new TimerWheel(0, 1, 32));
    assertThrows(IllegalArgumentException.class, () -> new TimerWheel(0, 1, 96));
    assertThrows(IllegalArgumentException.class, () -> new TimerWheel(0, 0, 64));
    assertEquals(0, new TimerWheel(0, 1, 64).size());
  }

  @Test
  void agreesWithASortedModel() {
    for (int seed = 0; seed < 100; seed++) {
      new Model(seed).run();
    }
  }

  /** Deadlines by timer, all of which are checked on every step. */
  private static final class Model {

    private final Map<Counted, Long> armed = new HashMap<>();
    private final List<Counted> entries = new ArrayList<>();
    private final Random random;

    /** Deadlines are multiples of a microsecond; with 1000 most of them lie within a tick. */
    private final int unitUs;

    private final int tickUs;
    private final TimerWheel wheel;
    private long now;
    private int expired;

    private final class Counted extends TimerWheel.Timer {
      @Override
      protected void expire(long nowUs) {
        Long deadline = armed.remove(this);
        assertTrue(deadline <= nowUs, "expired early");
        expired++;
        if (random.nextInt(3) == 0) {
          arm(this, nowUs + 1 + random.nextInt(300 * unitUs));
        }
      }
    }

    Model(int seed) {
      random = new Random(seed);
      unitUs = seed % 2 == 0 ? 1 : 1_000;
      tickUs = unitUs * (1 + random.nextInt(3));
      now = random.nextInt(10_000 * unitUs);
      wheel = new TimerWheel(now, tickUs, 64);
    }

    private void arm(Counted entry, long deadline) {
      armed.put(entry, deadline);
      wheel.arm(entry, deadline);
    }

    void run() {
      for (int i = 0; i < 20; i++) {
        entries.add(new Counted());
      }
      for (int step = 0; step < 500; step++) {
        Counted entry = entries.get(random.nextInt(entries.size()));
        switch (random.nextInt(4)) {
          case 0 -> {
            armed.remove(entry);
            wheel.cancel(entry);
          }
          case 1 -> advance(now + random.nextInt((random.nextInt(10) == 0 ? 1000 : 20) * unitUs));
          default -> arm(entry, now + random.nextInt(400 * unitUs) - 10L * unitUs);
        }
        assertAgrees();
      }
    }

    private void advance(long nowUs) {
      now = nowUs;
      int most = random.nextBoolean() ? Integer.MAX_VALUE : 1 + random.nextInt(4);
      for (boolean isPartial = true; isPartial; ) {
        expired = 0;
        isPartial = wheel.advance(now, most);
        assertTrue(expired <= most, "more than asked for");
        if (isPartial) {
          now += random.nextInt(3 * unitUs);
          arm(entries.get(random.nextInt(entries.size())), now + 1 + random.nextInt(400 * unitUs));
        }
      }
      for (long deadline : armed.values()) {
        assertTrue(deadline > now - tickUs, "more than a tick late");
      }
    }

    private void assertAgrees() {
      assertEquals(armed.size(), wheel.size());
      long earliest = armed.values().stream().min(Comparator.naturalOrder()).orElse(Long.MAX_VALUE);
      if (earliest == Long.MAX_VALUE) {
        assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
      } else {
        assertTrue(wheel.nextDeadline() < Math.max(earliest, now) + tickUs, "too late");
      }
    }
  }
}
