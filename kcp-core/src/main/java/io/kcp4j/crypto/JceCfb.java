package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.ShortBufferException;
import javax.crypto.spec.IvParameterSpec;
import javax.crypto.spec.SecretKeySpec;

/**
 * AES and Triple DES in CFB mode, by the modes that the JVM has intrinsics for. With E the block
 * cipher, P plaintext and C ciphertext, CFB is C[j+1] = P[j+1] ^ E(C[j]), C[0] = P[0] ^ E(IV).
 *
 * <ul>
 *   <li>Encryption: CBC of the plaintext under E(IV) computes X[0] = E(P[0] ^ E(IV)) = E(C[0]) and
 *       X[j+1] = E(P[j+1] ^ X[j]) = E(C[j+1]): its output, one block later, is the mask. Many
 *       packets at once go in {@link LockStep}.
 *   <li>Decryption: the mask is E of each block of ciphertext, which is ECB.
 * </ul>
 *
 * Group after group the same scratch is used.
 */
final class JceCfb implements StreamCipher {

  /** From here on one ECB call a column costs less than the chains of CBC. */
  private static final int LOCK_STEP_PACKETS = 8;

  private final Cipher cbc;
  private final Cipher ecb;
  private final int blockBytes;
  private final byte[] first;
  private final LockStep lockStep;
  private byte[] mask = new byte[0];

  private JceCfb(String algorithm, byte[] key, Provider provider) {
    cbc = Jce.cipher(algorithm + "/CBC/NoPadding", provider);
    ecb = Jce.cipher(algorithm + "/ECB/NoPadding", provider);
    blockBytes = ecb.getBlockSize();
    SecretKey secret = new SecretKeySpec(key, algorithm);
    try {
      ecb.init(Cipher.ENCRYPT_MODE, secret);
      first = ecb.doFinal(Arrays.copyOf(Cfb.initialVector(), blockBytes));
      cbc.init(Cipher.ENCRYPT_MODE, secret, new IvParameterSpec(first));
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException(
          "provider: " + provider + " (expected: one of " + algorithm + ")", e);
    }
    // Triple DES gains nothing: it has no instructions that could overlap.
    lockStep = blockBytes == PacketGroup.ALIGNMENT ? new LockStep(ecb, first) : null;
  }

  static JceCfb aes(byte[] key, Provider provider) {
    return new JceCfb("AES", key, provider);
  }

  static JceCfb tripleDes(byte[] key, Provider provider) {
    return new JceCfb("DESede", key, provider);
  }

  @Override
  public void encrypt(PacketGroup group) {
    reserveMask(group);
    try {
      if (lockStep != null && group.size() >= LOCK_STEP_PACKETS) {
        encryptInLockStep(group);
      } else {
        for (int i = 0; i < group.size(); i++) {
          encrypt(group.data(), group.start(i), group.start(i) + group.length(i));
        }
      }
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("encryption failed", e);
    }
  }

  private void encrypt(byte[] data, int start, int end) throws GeneralSecurityException {
    System.arraycopy(first, 0, mask, start, blockBytes);
    int followed = (end - 1 - start) / blockBytes * blockBytes;
    cbc.doFinal(data, start, followed, mask, start + blockBytes);
    Words.xor(data, mask, start, end);
  }

  /**
   * A few packets that are longer than the others are finished one by one, beginning with their
   * last encrypted block: as plaintext it would have been that block ^ E(IV).
   */
  private void encryptInLockStep(PacketGroup group) throws GeneralSecurityException {
    byte[] data = group.data();
    int left = lockStep.encrypt(group, LOCK_STEP_PACKETS / 2);
    for (int i = 0; i < left; i++) {
      int start = lockStep.start(i);
      System.arraycopy(first, 0, mask, start, blockBytes);
      Words.xor(data, mask, start, start + blockBytes);
      encrypt(data, start, start + lockStep.length(i));
    }
  }

  @Override
  public void decrypt(PacketGroup group) {
    reserveMask(group);
    try {
      ecb.update(group.data(), 0, group.end(), mask, blockBytes);
    } catch (ShortBufferException e) {
      throw new IllegalStateException("decryption failed", e);
    }
    for (int i = 0; i < group.size(); i++) {
      int start = group.start(i);
      System.arraycopy(first, 0, mask, start, blockBytes);
      Words.xor(group.data(), mask, start, start + group.length(i));
    }
  }

  private void reserveMask(PacketGroup group) {
    if (mask.length < group.end() + blockBytes) {
      mask = new byte[group.data().length + blockBytes];
    }
  }
}
