package io.kcp4j.session;

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
    protected void expire(long nowMs) {
      expired.add(name + "@" + nowMs);
      action.accept(nowMs);
    }
  }

  @Test
  void emptyWheelHasNoDeadline() {
    assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
    wheel.advance(1_000_000);
    assertEquals(0, wheel.size());
  }

  @Test
  void timerExpiresAtItsDeadlineAndNotBefore() {
    wheel.arm(new Named("a"), 100);
    assertEquals(100, wheel.nextDeadline());
    wheel.advance(99);
    assertEquals(List.of(), expired);
    wheel.advance(100);
    assertEquals(List.of("a@100"), expired);
    assertEquals(0, wheel.size());
  }

  @Test
  void timerWithAPastDeadlineExpiresInTheNextAdvance() {
    wheel.advance(500);
    wheel.arm(new Named("a"), 20);
    assertEquals(500, wheel.nextDeadline());
    wheel.advance(500);
    assertEquals(List.of("a@500"), expired);
  }

  @Test
  void armedTimerCanBeMovedAndCancelled() {
    Named a = new Named("a");
    wheel.arm(a, 100);
    wheel.arm(a, 50);
    wheel.arm(a, 200);
    assertEquals(1, wheel.size());
    wheel.advance(199);
    assertEquals(List.of(), expired);
    wheel.cancel(a);
    wheel.cancel(a);
    assertEquals(0, wheel.size());
    wheel.advance(1000);
    assertEquals(List.of(), expired);
  }

  @Test
  void deadlineBeyondTheRangeOfTheWheelWaits() {
    wheel.arm(new Named("a"), 10_000);
    long now = 0;
    int wakes = 0;
    while (expired.isEmpty()) {
      assertTrue(wheel.nextDeadline() > now);
      now = wheel.nextDeadline();
      wheel.advance(now);
      wakes++;
    }
    assertEquals(List.of("a@10000"), expired);
    assertTrue(wakes <= 11, "wakes: " + wakes);
  }

  @Test
  void everythingThatIsDueExpiresInALateAdvance() {
    for (int deadline : new int[] {1, 63, 64, 1023, 1024, 5000}) {
      wheel.arm(new Named("" + deadline), deadline);
    }
    wheel.arm(new Named("later"), 9001);
    wheel.advance(9000);
    assertEquals(6, expired.size());
    assertEquals(1, wheel.size());
    wheel.advance(9001);
    assertEquals("later@9001", expired.get(6));
  }

  @Test
  void coarseTicksExpireUpToOneTickLateAndNeverEarly() {
    TimerWheel coarse = new TimerWheel(0, 1000, 64);
    coarse.arm(new Named("a"), 1001);
    coarse.arm(new Named("b"), 2000);
    assertEquals(2000, coarse.nextDeadline());
    coarse.advance(1999);
    assertEquals(List.of(), expired);
    coarse.advance(2000);
    assertEquals(2, expired.size());
  }

  @Test
  void expiringTimerMayCancelAndArmOthersOfItsTick() {
    Named[] entries = new Named[3];
    entries[0] = new Named("0", now -> wheel.cancel(entries[1]));
    entries[1] = new Named("1", now -> wheel.cancel(entries[0]));
    entries[2] = new Named("2", now -> wheel.arm(entries[2], now + 5));
    for (Named entry : entries) {
      wheel.arm(entry, 10);
    }
    wheel.advance(10);
    assertEquals(2, expired.size(), "one of 0 and 1 has cancelled the other");
    assertEquals(1, wheel.size());
    wheel.advance(15);
    assertEquals("2@15", expired.get(2));
  }

  @Test
  void timerThatArmsItselfForThePastDoesNotBlockAdvance() {
    Named[] self = new Named[1];
    self[0] = new Named("a", now -> wheel.arm(self[0], now - 1));
    wheel.arm(self[0], 10);
    wheel.advance(10);
    int once = expired.size();
    assertTrue(once <= 2, "times: " + once);
    assertEquals(10, wheel.nextDeadline());
    wheel.advance(11);
    assertTrue(expired.size() > once);
  }

  @Test
  void nextDeadlineCanBeCalledWhileTimersExpire() {
    List<Long> deadlines = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      wheel.arm(new Named("" + i, now -> deadlines.add(wheel.nextDeadline())), 10);
    }
    wheel.advance(10);
    assertEquals(List.of(10L, 10L, Long.MAX_VALUE), deadlines);
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
          10);
    }
    assertThrows(IllegalStateException.class, () -> wheel.advance(10));
    assertEquals(10, wheel.nextDeadline());
    wheel.advance(11);
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
    wheel.arm(thrower, 10);
    wheel.arm(new Named("later"), 11);
    assertThrows(IllegalStateException.class, () -> wheel.advance(20));
    assertEquals(11, wheel.nextDeadline());
    wheel.advance(20);
    assertEquals(List.of("thrower@20", "later@20"), expired);
  }

  @Test
  void advanceExpiresABoundedNumberAndTheNextTheOthers() {
    for (int i = 0; i < 5; i++) {
      wheel.arm(new Named("" + i), i < 3 ? 10 : 11);
    }
    assertTrue(wheel.advance(20, 2));
    assertEquals(2, expired.size());
    assertEquals(20, wheel.nextDeadline());
    assertTrue(wheel.advance(21, 2));
    assertEquals(4, expired.size());
    assertFalse(wheel.advance(22, 2));
    assertEquals(5, expired.size());
    assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
  }

  @Test
  void nothingIsLeftWhenTheBoundIsJustReached() {
    wheel.arm(new Named("a"), 10);
    wheel.arm(new Named("b"), 11);
    wheel.arm(new Named("later"), 30);
    assertFalse(wheel.advance(20, 2));
    assertEquals(List.of("a@20", "b@20"), expired);
    assertEquals(30, wheel.nextDeadline());
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
    private final int tickMs;
    private final TimerWheel wheel;
    private long now;
    private int expired;

    private final class Counted extends TimerWheel.Timer {
      @Override
      protected void expire(long nowMs) {
        Long deadline = armed.remove(this);
        assertTrue(deadline <= nowMs, "expired early");
        expired++;
        if (random.nextInt(3) == 0) {
          arm(this, nowMs + 1 + random.nextInt(300));
        }
      }
    }

    Model(int seed) {
      random = new Random(seed);
      tickMs = 1 + random.nextInt(3);
      now = random.nextInt(10_000);
      wheel = new TimerWheel(now, tickMs, 64);
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
          case 1 -> advance(now + random.nextInt(random.nextInt(10) == 0 ? 1000 : 20));
          default -> arm(entry, now + random.nextInt(400) - 10);
        }
        assertAgrees();
      }
    }

    private void advance(long nowMs) {
      now = nowMs;
      int most = random.nextBoolean() ? Integer.MAX_VALUE : 1 + random.nextInt(4);
      for (boolean isPartial = true; isPartial; ) {
        expired = 0;
        isPartial = wheel.advance(now, most);
        assertTrue(expired <= most, "more than asked for");
        if (isPartial) {
          now += random.nextInt(3);
          arm(entries.get(random.nextInt(entries.size())), now + 1 + random.nextInt(400));
        }
      }
      for (long deadline : armed.values()) {
        assertTrue(deadline > now - tickMs, "more than a tick late");
      }
    }

    private void assertAgrees() {
      assertEquals(armed.size(), wheel.size());
      long earliest = armed.values().stream().min(Comparator.naturalOrder()).orElse(Long.MAX_VALUE);
      if (earliest == Long.MAX_VALUE) {
        assertEquals(Long.MAX_VALUE, wheel.nextDeadline());
      } else {
        assertTrue(wheel.nextDeadline() < Math.max(earliest, now) + tickMs, "too late");
      }
    }
  }
}
