package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.Provider;
import org.bouncycastle.crypto.engines.BlowfishEngine;
import org.bouncycastle.crypto.engines.CAST5Engine;
import org.bouncycastle.crypto.engines.SM4Engine;
import org.bouncycastle.crypto.engines.TwofishEngine;
import org.bouncycastle.crypto.engines.XTEAEngine;
import org.bouncycastle.crypto.params.KeyParameter;

/**
 * Encrypts and decrypts whole packets in place, without changing their lengths. The ciphers of a
 * few lines, and the block ciphers that {@link Cfb} calls block by block, are nested.
 */
public interface StreamCipher {

  /** Encrypts every packet of the group. */
  void encrypt(PacketGroup group);

  /** Decrypts every packet of the group. */
  void decrypt(PacketGroup group);

  /**
   * The cipher of an algorithm that is not an AEAD.
   *
   * @param provider of AES and Triple DES, or null for the preferred one
   */
  static StreamCipher of(CipherAlgorithm algorithm, byte[] key, Provider provider) {
    return switch (algorithm) {
      case AES, AES_192, AES_128 -> Cfb.aes(JceLibrary.of(provider).aes(key), key, provider);
      case TRIPLE_DES -> Cfb.tripleDes(key, provider);
      case SALSA20 -> new Salsa20(key);
      case XOR -> new XorPad(key);
      case TEA -> Cfb.of(new Tea(key));
      case XTEA, BLOWFISH, TWOFISH, CAST5, SM4 -> Cfb.of(bouncyCastle(algorithm, key));
      case NONE -> new None();
      default -> throw new AssertionError(algorithm);
    };
  }

  private static BlockCipher bouncyCastle(CipherAlgorithm algorithm, byte[] key) {
    try {
      return BouncyCastleBlockCipher.of(algorithm, key);
    } catch (NoClassDefFoundError e) {
      throw new IllegalStateException(
          "cipher "
              + algorithm.kcptunName()
              + ": BouncyCastle is missing (expected: org.bouncycastle:bcprov-jdk18on on the class"
              + " path)",
          e);
    }
  }

  /** The cipher of {@link CipherAlgorithm#NONE}. */
  final class None implements StreamCipher {

    @Override
    public void encrypt(PacketGroup group) {}

    @Override
    public void decrypt(PacketGroup group) {}
  }

  /**
   * The cipher "xor" of kcp-go: every packet is XORed with the same pad, which is as long as the
   * largest packet of kcp-go and repeats beyond that.
   */
  final class XorPad implements StreamCipher {

    private static final byte[] SALT = "sH3CIVoF#rWLtJo6".getBytes(StandardCharsets.US_ASCII);
    private static final int ROUNDS = 32;
    private static final int PAD_BYTES = 1500;

    private final byte[] pad;
    private byte[] mask = new byte[0];

    XorPad(byte[] key) {
      pad = KeyMaterial.pbkdf2(key, SALT, ROUNDS, PAD_BYTES);
    }

    @Override
    public void encrypt(PacketGroup group) {
      if (mask.length < group.end()) {
        mask = new byte[group.data().length];
      }
      for (int i = 0; i < group.size(); i++) {
        int end = group.start(i) + group.length(i);
        for (int at = group.start(i); at < end; at += PAD_BYTES) {
          System.arraycopy(pad, 0, mask, at, Math.min(PAD_BYTES, end - at));
        }
        PacketGroup.xor(group.data(), mask, group.start(i), end);
      }
    }

    @Override
    public void decrypt(PacketGroup group) {
      encrypt(group);
    }
  }

  /** TEA of Wheeler and Needham with 16 rounds, which are 8 cycles, as in kcp-go; big-endian. */
  public final class Tea implements BlockCipher {

    private static final int CYCLES = 8;
    private static final int DELTA = 0x9e3779b9;
    private static final VarHandle WORD =
        MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);

    private final int k0;
    private final int k1;
    private final int k2;
    private final int k3;

    public Tea(byte[] key) {
      k0 = (int) WORD.get(key, 0);
      k1 = (int) WORD.get(key, 4);
      k2 = (int) WORD.get(key, 8);
      k3 = (int) WORD.get(key, 12);
    }

    @Override
    public int blockBytes() {
      return 2 * Integer.BYTES;
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      int v0 = (int) WORD.get(in, inIndex);
      int v1 = (int) WORD.get(in, inIndex + Integer.BYTES);
      int sum = 0;
      for (int cycle = 0; cycle < CYCLES; cycle++) {
        sum += DELTA;
        v0 += ((v1 << 4) + k0) ^ (v1 + sum) ^ ((v1 >>> 5) + k1);
        v1 += ((v0 << 4) + k2) ^ (v0 + sum) ^ ((v0 >>> 5) + k3);
      }
      WORD.set(out, outIndex, v0);
      WORD.set(out, outIndex + Integer.BYTES, v1);
    }
  }

  /**
   * A block cipher of Bouncy Castle, called without its JCE provider. No other class needs that
   * artifact, so it may be missing where these ciphers are not used.
   */
  final class BouncyCastleBlockCipher implements BlockCipher {

    private final org.bouncycastle.crypto.BlockCipher engine;

    private BouncyCastleBlockCipher(org.bouncycastle.crypto.BlockCipher engine, byte[] key) {
      this.engine = engine;
      engine.init(true, new KeyParameter(key));
    }

    private static BlockCipher of(CipherAlgorithm algorithm, byte[] key) {
      org.bouncycastle.crypto.BlockCipher engine =
          switch (algorithm) {
            case XTEA -> new XTEAEngine();
            case BLOWFISH -> new BlowfishEngine();
            case TWOFISH -> new TwofishEngine();
            case CAST5 -> new CAST5Engine();
            case SM4 -> new SM4Engine();
            default -> throw new AssertionError(algorithm);
          };
      return new BouncyCastleBlockCipher(engine, key);
    }

    @Override
    public int blockBytes() {
      return engine.getBlockSize();
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      engine.processBlock(in, inIndex, out, outIndex);
    }
  }
}
