package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.security.SecureRandom;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Nonces never come twice, and their keys are changed in time. */
class NonceSourceTest {

  @Test
  void noncesOfOneSourceAndOfAnotherAllDiffer() {
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
  void systemIsAskedForAnotherKeyAfterTheLimit() {
    CountingRandom system = new CountingRandom();
    NonceSource source = new NonceSource(system);
    byte[] nonce = new byte[64];
    long blocks = 0;
    for (; blocks < NonceSource.BLOCKS_PER_SEED; blocks += 4) {
      source.next(nonce, 0, 64);
    }
    assertEquals(1, system.calls);
    source.next(nonce, 0, 64);
    assertEquals(2, system.calls);
  }

  private static ByteBuffer next(NonceSource source, int bytes) {
    byte[] nonce = new byte[bytes];
    source.next(nonce, 0, bytes);
    return ByteBuffer.wrap(nonce);
  }

  private static final class CountingRandom extends SecureRandom {

    private int calls;

    @Override
    public void nextBytes(byte[] bytes) {
      calls++;
      super.nextBytes(bytes);
    }
  }
}
