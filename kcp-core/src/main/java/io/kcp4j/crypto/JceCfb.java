package io.kcp4j.crypto;

import java.security.GeneralSecurityException;
import java.security.Provider;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;

/**
 * AES and Triple DES in CFB mode, computed by faster modes of the JCE. With E the block cipher, P
 * plaintext and C ciphertext, CFB is C[j+1] = P[j+1] ^ E(C[j]), C[0] = P[0] ^ E(IV).
 *
 * <ul>
 *   <li>Encryption: CBC of the plaintext under E(IV) computes X[0] = E(P[0] ^ E(IV)) = E(C[0]) and
 *       X[j+1] = E(P[j+1] ^ X[j]) = E(C[j+1]): its output, one block later, is the mask. {@link
 *       ParallelCfb} encrypts many packets at once.
 *   <li>Decryption: the mask is E of each block of ciphertext, which is ECB.
 * </ul>
 *
 * CBC always uses the JCE: no library is faster where each block depends on the previous one.
 *
 * <p>All groups use the same scratch arrays.
 */
final class JceCfb implements StreamCipher {

  /** From this many packets on, one ECB call per column costs less than CBC for each packet. */
  private static final int PARALLEL_PACKETS = 8;

  private final BlockCipher ecb;
  private final Cipher cbc;
  private final int blockBytes;
  private final byte[] first;
  private final ParallelCfb parallelCfb;
  private byte[] mask = new byte[0];

  private JceCfb(BlockCipher ecb, String algorithm, byte[] key, Provider provider) {
    this.ecb = ecb;
    blockBytes = ecb.blockBytes();
    first = Arrays.copyOf(Cfb.initialVector(), blockBytes);
    ecb.encrypt(first, 0, first, 0);
    cbc = JceLibrary.encrypting(algorithm, "CBC", key, new IvParameterSpec(first), provider);
    // No gain for Triple DES, which has no hardware instructions to pipeline.
    parallelCfb = blockBytes == PacketGroup.ALIGNMENT ? new ParallelCfb(ecb, first) : null;
  }

  /** AES; {@code ecb} encrypts blocks with the same key. */
  static JceCfb aes(BlockCipher ecb, byte[] key, Provider provider) {
    return new JceCfb(ecb, "AES", key, provider);
  }

  static JceCfb tripleDes(byte[] key, Provider provider) {
    BlockCipher ecb = new JceLibrary(provider).blockCipher("DESede", key);
    return new JceCfb(ecb, "DESede", key, provider);
  }

  @Override
  public void encrypt(PacketGroup group) {
    reserveMask(group);
    try {
      if (parallelCfb != null && group.size() >= PARALLEL_PACKETS) {
        encryptParallel(group);
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
    PacketGroup.xor(data, mask, start, end);
  }

  /**
   * Completes the few packets that are longer than the others one by one, starting with their last
   * encrypted block: the plaintext that yields it as a first block is that block ^ E(IV).
   */
  private void encryptParallel(PacketGroup group) throws GeneralSecurityException {
    byte[] data = group.data();
    int left = parallelCfb.encrypt(group, PARALLEL_PACKETS / 2);
    for (int i = 0; i < left; i++) {
      int start = parallelCfb.start(i);
      System.arraycopy(first, 0, mask, start, blockBytes);
      PacketGroup.xor(data, mask, start, start + blockBytes);
      encrypt(data, start, start + parallelCfb.length(i));
    }
  }

  @Override
  public void decrypt(PacketGroup group) {
    reserveMask(group);
    ecb.encryptBlocks(group.data(), 0, mask, blockBytes, group.end() / blockBytes);
    for (int i = 0; i < group.size(); i++) {
      int start = group.start(i);
      System.arraycopy(first, 0, mask, start, blockBytes);
      PacketGroup.xor(group.data(), mask, start, start + group.length(i));
    }
  }

  private void reserveMask(PacketGroup group) {
    if (mask.length < group.end() + blockBytes) {
      mask = new byte[group.data().length + blockBytes];
    }
  }
}
