package io.kcp4j.session;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.util.Arrays;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Reset tokens, by which a server proves that it does not know a session any more, though it has
 * forgotten everything about it (RFC 9000 §10.3): HMAC-SHA256 of the session id. Used by one
 * thread.
 */
public final class ResetTokens {

  /** The least size of a secret, in bytes. */
  public static final int MIN_SECRET_BYTES = 16;

  /** The size of a token, in bytes. */
  static final int BYTES = 16;

  private static final String ALGORITHM = "HmacSHA256";

  private final Mac mac;

  /**
   * Makes the tokens of a server.
   *
   * @param secret bytes that others cannot guess, 16 or more; if a server keeps them when it
   *     restarts, its clients learn of that at once
   * @throws IllegalArgumentException if there are fewer
   */
  public ResetTokens(byte[] secret) {
    if (secret.length < MIN_SECRET_BYTES) {
      throw new IllegalArgumentException(
          "secret: " + secret.length + " bytes (expected: >= " + MIN_SECRET_BYTES + ")");
    }
    try {
      mac = Mac.getInstance(ALGORITHM);
      mac.init(new SecretKeySpec(secret, ALGORITHM));
    } catch (InvalidKeyException e) {
      throw new AssertionError(e); // HMAC takes keys of any length.
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException(e); // Every JDK has it.
    }
  }

  /** The token of a session id. */
  byte[] of(long sessionId) {
    byte[] message =
        ByteBuffer.allocate(Long.BYTES).order(ByteOrder.LITTLE_ENDIAN).putLong(sessionId).array();
    return Arrays.copyOf(mac.doFinal(message), BYTES);
  }
}
