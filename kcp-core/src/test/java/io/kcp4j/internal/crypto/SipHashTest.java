package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.SplittableRandom;
import org.bouncycastle.crypto.params.KeyParameter;
import org.junit.jupiter.api.Test;

/** {@link SipHash} against its paper, and against another implementation. */
class SipHashTest {

  private static final int MESSAGES = 1_000;

  /** Appendix A of the paper: the key 00 to 0f, the message 00 to 0e. */
  @Test
  void vectorOfThePaper() {
    SipHash hash = new SipHash(0x0706050403020100L, 0x0f0e0d0c0b0a0908L);
    byte[] message = new byte[15];
    for (int i = 0; i < message.length; i++) {
      message[i] = (byte) i;
    }
    assertEquals(0xa129ca6149be45e5L, hash.of(ByteBuffer.wrap(message)));
  }

  @Test
  void messagesOfAnyLengthHaveTheHashOfAnotherImplementation() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < MESSAGES; i++) {
      long k0 = random.nextLong();
      long k1 = random.nextLong();
      byte[] message = new byte[random.nextInt(70)];
      random.nextBytes(message);
      byte[] key =
          ByteBuffer.allocate(2 * Long.BYTES)
              .putLong(Long.reverseBytes(k0))
              .putLong(Long.reverseBytes(k1))
              .array();
      var other = new org.bouncycastle.crypto.macs.SipHash();
      other.init(new KeyParameter(key));
      other.update(message, 0, message.length);
      assertEquals(other.doFinal(), new SipHash(k0, k1).of(ByteBuffer.wrap(message)));
    }
  }
}
