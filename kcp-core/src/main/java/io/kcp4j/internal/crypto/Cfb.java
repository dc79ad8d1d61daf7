package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.BlockCipher;
import java.security.GeneralSecurityException;
import java.security.Provider;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.spec.IvParameterSpec;

/**
 * A block cipher in CFB mode. With E the block cipher, P plaintext and C ciphertext, CFB is C[0] =
 * P[0] ^ E(IV), C[j+1] = P[j+1] ^ E(C[j]). The last block may be shorter.
 */
public abstract class Cfb implements StreamCipher {

  /** The fixed one of kcp-go; ciphers with blocks of 8 bytes use the first half. */
  private static final byte[] INITIAL_VECTOR = {
    (byte) 0xa7,
    0x73,
    0x4f,
    (byte) 0x9c,
    0x12,
    (byte) 0xac,
    0x1b,
    0x01,
    (byte) 0xa4,
    0x15,
    (byte) 0xf2,
    (byte) 0xc1,
    (byte) 0xfc,
    0x78,
    (byte) 0xe6,
    0x6b
  };

  final BlockCipher cipher;
  final int blockBytes;

  /** E(IV), the mask of the first block of each packet. */
  final byte[] first;

  private Cfb(BlockCipher cipher) {
    this.cipher = cipher;
    blockBytes = cipher.blockBytes();
    first = Arrays.copyOf(INITIAL_VECTOR, blockBytes);
    cipher.encrypt(first, 0, first, 0);
  }

  /** CFB that calls any block cipher block by block. */
  public static Cfb of(BlockCipher cipher) {
    return new BlockCfb(cipher);
  }

  /**
   * AES.
   *
   * @param cipher encrypts blocks with the same key
   */
  static Cfb aes(BlockCipher cipher, byte[] key, Provider provider) {
    return new JceCfb(cipher, "AES", key, provider);
  }

  static Cfb tripleDes(byte[] key, Provider provider) {
    BlockCipher cipher = new JceLibrary(provider).blockCipher("DESede", key);
    return new JceCfb(cipher, "DESede", key, provider);
  }

  /** Any block cipher, block by block. */
  private static final class BlockCfb extends Cfb {

    private final byte[] mask = new byte[PacketGroup.ALIGNMENT];

    BlockCfb(BlockCipher cipher) {
      super(cipher);
    }

    @Override
    public void encrypt(PacketGroup group) {
      for (int i = 0; i < group.size(); i++) {
        encrypt(group.data(), group.start(i), group.start(i) + group.length(i));
      }
    }

    private void encrypt(byte[] data, int start, int end) {
      xorBlock(data, start, first);
      for (int at = start + blockBytes; at < end; at += blockBytes) {
        cipher.encrypt(data, at - blockBytes, mask, 0);
        xorBlock(data, at, mask);
      }
    }

    @Override
    public void decrypt(PacketGroup group) {
      for (int i = 0; i < group.size(); i++) {
        decrypt(group.data(), group.start(i), group.start(i) + group.length(i));
      }
    }

    /** From the end to the front: each block needs the ciphertext of the one before it. */
    private void decrypt(byte[] data, int start, int end) {
      int last = start + (end - 1 - start) / blockBytes * blockBytes;
      for (int at = last; at > start; at -= blockBytes) {
        cipher.encrypt(data, at - blockBytes, mask, 0);
        xorBlock(data, at, mask);
      }
      xorBlock(data, start, first);
    }

    private void xorBlock(byte[] data, int at, byte[] block) {
      xorLong(data, at, block, 0);
      if (blockBytes == PacketGroup.ALIGNMENT) {
        xorLong(data, at + Long.BYTES, block, Long.BYTES);
      }
    }

    private static void xorLong(byte[] data, int at, byte[] block, int index) {
      PacketGroup.LONG.set(
          data,
          at,
          (long) PacketGroup.LONG.get(data, at) ^ (long) PacketGroup.LONG.get(block, index));
    }
  }

  /**
   * AES and Triple DES, computed by faster modes of the JCE.
   *
   * <ul>
   *   <li>Encryption: CBC of the plaintext under E(IV) computes X[0] = E(P[0] ^ E(IV)) = E(C[0])
   *       and X[j+1] = E(P[j+1] ^ X[j]) = E(C[j+1]): its output, one block later, is the mask.
   *       {@link ParallelCfb} encrypts many packets at once.
   *   <li>Decryption: the mask is E of each block of ciphertext, which is ECB.
   * </ul>
   *
   * CBC always uses the JCE: no library is faster where each block depends on the previous one.
   *
   * <p>All groups use the same scratch arrays.
   */
  private static final class JceCfb extends Cfb {

    /** From this many packets on, one ECB call per column costs less than CBC for each packet. */
    private static final int PARALLEL_PACKETS = 8;

    private final Cipher cbc;
    private final ParallelCfb parallel;
    private byte[] mask = new byte[0];

    JceCfb(BlockCipher cipher, String algorithm, byte[] key, Provider provider) {
      super(cipher);
      cbc = JceLibrary.encrypting(algorithm, "CBC", key, new IvParameterSpec(first), provider);
      // No gain for Triple DES, which has no hardware instructions to pipeline.
      parallel = blockBytes == PacketGroup.ALIGNMENT ? new ParallelCfb(cipher, first) : null;
    }

    @Override
    public void encrypt(PacketGroup group) {
      reserveMask(group);
      try {
        if (parallel != null && group.size() >= PARALLEL_PACKETS) {
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
     * Completes the few packets that are longer than the others one by one, starting with their
     * last encrypted block: the plaintext that yields it as a first block is that block ^ E(IV).
     */
    private void encryptParallel(PacketGroup group) throws GeneralSecurityException {
      byte[] data = group.data();
      int left = parallel.encrypt(group, PARALLEL_PACKETS / 2);
      for (int i = 0; i < left; i++) {
        int start = parallel.starts[i];
        System.arraycopy(first, 0, mask, start, blockBytes);
        PacketGroup.xor(data, mask, start, start + blockBytes);
        encrypt(data, start, start + parallel.lengths[i]);
      }
    }

    @Override
    public void decrypt(PacketGroup group) {
      reserveMask(group);
      cipher.encryptBlocks(group.data(), 0, mask, blockBytes, group.end() / blockBytes);
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

  /**
   * CFB encryption of many packets in parallel, with blocks of 16 bytes. Within a packet each block
   * depends on the previous one; blocks at the same offset of several packets are independent, and
   * one call encrypts a whole column of them.
   */
  private static final class ParallelCfb {

    private static final int BLOCK_BYTES = PacketGroup.ALIGNMENT;

    private final BlockCipher cipher;
    private final byte[] first;
    private final byte[] column = new byte[PacketGroup.MAX_PACKETS * BLOCK_BYTES];
    private final byte[] masks = new byte[PacketGroup.MAX_PACKETS * BLOCK_BYTES];

    // Sorted by descending length: packets that still have blocks are always the first ones.
    private final int[] starts = new int[PacketGroup.MAX_PACKETS];
    private final int[] lengths = new int[PacketGroup.MAX_PACKETS];
    private int active;

    ParallelCfb(BlockCipher cipher, byte[] first) {
      this.cipher = cipher;
      this.first = first;
    }

    /**
     * Encrypts the group column by column, as long as at least {@code minPackets} packets have
     * another block.
     *
     * @return the number of packets with more blocks than have been encrypted; {@link #starts} has
     *     the index of the last encrypted block of each, and {@link #lengths} the bytes from there
     */
    int encrypt(PacketGroup group, int minPackets) {
      sort(group);
      for (int i = 0; i < active; i++) {
        System.arraycopy(first, 0, masks, i * BLOCK_BYTES, BLOCK_BYTES);
      }
      int offset = 0;
      while (true) {
        xorColumn(group.data(), offset);
        offset += BLOCK_BYTES;
        while (active > 0 && lengths[active - 1] <= offset) {
          active--;
        }
        if (active < minPackets) {
          break;
        }
        cipher.encryptBlocks(column, 0, masks, 0, active);
      }
      for (int i = 0; i < active; i++) {
        starts[i] += offset - BLOCK_BYTES;
        lengths[i] -= offset - BLOCK_BYTES;
      }
      return active;
    }

    private void sort(PacketGroup group) {
      active = group.size();
      for (int i = 0; i < active; i++) {
        int length = group.length(i);
        int k = i;
        for (; k > 0 && lengths[k - 1] < length; k--) {
          starts[k] = starts[k - 1];
          lengths[k] = lengths[k - 1];
        }
        starts[k] = group.start(i);
        lengths[k] = length;
      }
    }

    private void xorColumn(byte[] data, int offset) {
      for (int i = 0; i < active; i++) {
        int at = starts[i] + offset;
        int cell = i * BLOCK_BYTES;
        long low = (long) PacketGroup.LONG.get(data, at) ^ (long) PacketGroup.LONG.get(masks, cell);
        long high =
            (long) PacketGroup.LONG.get(data, at + 8)
                ^ (long) PacketGroup.LONG.get(masks, cell + 8);
        PacketGroup.LONG.set(data, at, low);
        PacketGroup.LONG.set(data, at + 8, high);
        PacketGroup.LONG.set(column, cell, low);
        PacketGroup.LONG.set(column, cell + 8, high);
      }
    }
  }
}
