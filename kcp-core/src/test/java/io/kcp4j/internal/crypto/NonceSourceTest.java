package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Nonces never repeat, and their keys are changed in time. */
class NonceSourceTest {

  private long nowMs;

  @Test
  void noncesOfTwoSourcesAllDiffer() {
    NonceSource one = new NonceSource(new SecureRandom());
    NonceSource other = new NonceSource(new SecureRandom());
    Set<ByteBuffer> seen = new HashSet<>();
    for (int i = 0; i < 10_000; i++) {
      assertTrue(seen.add(next(one, 12)));
      assertTrue(seen.add(next(other, 12)));
      assertTrue(seen.add(next(one, 16)));
    }
  }

  @Test
  void everyBitIsSetHalfOfTheTime() {
    NonceSource source = new NonceSource(new SecureRandom());
    int[] set = new int[128];
    int nonces = 10_000;
    for (int i = 0; i < nonces; i++) {
      byte[] nonce = next(source, 16).array();
      for (int bit = 0; bit < set.length; bit++) {
        set[bit] += nonce[bit / 8] >> bit % 8 & 1;
      }
    }
    for (int count : set) { // 8 standard deviations
      assertTrue(Math.abs(count - nonces / 2) < 400, "a bit is set " + count + " times");
    }
  }

  @Test
  void keyIsChangedAfterItsUsageLimit() {
    CountingRandom system = new CountingRandom();
    NonceSource source = new NonceSource(system, () -> 0);
    for (int bytes : new int[] {8, 12, 16, 64}) {
      int before = system.calls;
      for (int i = 0; i < NonceSource.NONCES_PER_SEED; i++) {
        next(source, bytes);
      }
      assertEquals(before + 1, system.calls, bytes + " bytes");
    }
    assertEquals(1 << 16, NonceSource.NONCES_PER_SEED);
  }

  @Test
  void keyIsChangedAfterASecondOfUse() {
    CountingRandom system = new CountingRandom();
    NonceSource source = new NonceSource(system, () -> nowMs);
    nextBatch(source);
    nowMs += 999;
    nextBatch(source);
    assertEquals(1, system.calls);
    nowMs += 1;
    nextBatch(source);
    assertEquals(2, system.calls);
    nowMs += 999;
    nextBatch(source);
    assertEquals(2, system.calls);
  }

  @Test
  void clockJumpInEitherDirectionChangesTheKey() {
    CountingRandom system = new CountingRandom();
    NonceSource source = new NonceSource(system, () -> nowMs);
    long[] jumpsMs = {-1, -3_600_000, 3_600_000, Long.MIN_VALUE, Long.MIN_VALUE};
    nextBatch(source);
    for (int i = 0; i < jumpsMs.length; i++) {
      nowMs += jumpsMs[i];
      nextBatch(source);
      assertEquals(2 + i, system.calls, "jump " + jumpsMs[i]);
    }
  }

  /** Both copies after a snapshot have the same state; here each gets it from an equal source. */
  @Test
  void copyOfASourceGivesDifferentNoncesAfterASecond() {
    long[] copysMs = {0};
    NonceSource source = new NonceSource(new CopiedRandom(1), () -> nowMs);
    NonceSource copy = new NonceSource(new CopiedRandom(2), () -> copysMs[0]);
    assertEquals(nextBatch(source), nextBatch(copy));
    nowMs += 1000;
    copysMs[0] += 1000;
    assertNotEquals(nextBatch(source), nextBatch(copy));
  }

  @Test
  void statefulSystemSourceIsReseeded() throws GeneralSecurityException {
    ReseedableRandom system = new ReseedableRandom();
    NonceSource source = new NonceSource(system, () -> nowMs);
    nextBatch(source);
    nowMs += 1000;
    nextBatch(source);
    assertEquals(2, system.reseeds);
    next(new NonceSource(SecureRandom.getInstance("DRBG")), 12);
  }

  @Test
  void failedSourceGivesNoNoncesUntilItHasANewKey() {
    CountingRandom system = new CountingRandom();
    NonceSource source = new NonceSource(system, () -> nowMs);
    Set<ByteBuffer> seen = new HashSet<>();
    assertTrue(seen.add(nextBatch(source)));
    nowMs += 1000;
    system.fails = true;
    source.expire();
    for (int i = 0; i < 3; i++) {
      assertThrows(IllegalStateException.class, () -> next(source, 8));
    }
    system.fails = false;
    assertTrue(seen.add(next(source, 12)));
    assertEquals(2, system.calls);
  }

  private static ByteBuffer nextBatch(NonceSource source) {
    source.expire();
    return next(source, 12);
  }

  private static ByteBuffer next(NonceSource source, int bytes) {
    byte[] nonce = new byte[bytes];
    source.next(nonce, 0, bytes);
    return ByteBuffer.wrap(nonce);
  }

  private static class CountingRandom extends SecureRandom {

    private static final long serialVersionUID = 1;

    private int calls;
    private boolean fails;

    @Override
    public void nextBytes(byte[] bytes) {
      if (fails) {
        throw new IllegalStateException("no entropy");
      }
      calls++;
      super.nextBytes(bytes);
    }
  }

  /** Returns the same first seed, then different ones. */
  private static final class CopiedRandom extends CountingRandom {

    private static final long serialVersionUID = 1;

    private final int number;
    private int seeds;

    CopiedRandom(int number) {
      this.number = number;
    }

    @Override
    public void nextBytes(byte[] bytes) {
      Arrays.fill(bytes, (byte) (seeds++ == 0 ? 0 : number));
    }
  }

  private static final class ReseedableRandom extends CountingRandom {

    private static final long serialVersionUID = 1;

    private int reseeds;

    @Override
    public void reseed() {
      reseeds++;
    }
  }
}
