package io.kcp4j.crypto;

import io.kcp4j.Unstable;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * The built-in packet ciphers: those of kcptun, by its names, and three more AEADs. Only AEADs
 * detect every modification: all others carry a CRC-32, which an attacker without the key can
 * adjust. {@link #AES_128_GCM} is recommended.
 */
public enum CipherAlgorithm {
  /** AES-256 in CFB mode. */
  AES("aes", 32, Layout.CHECKSUM),
  /** AES-192 in CFB mode. */
  AES_192("aes-192", 24, Layout.CHECKSUM),
  /** AES-128 in CFB mode. */
  AES_128("aes-128", 16, Layout.CHECKSUM),
  /** AES-128 in GCM mode. */
  AES_128_GCM("aes-128-gcm", 16, Layout.AEAD),
  /** AES-192 in GCM mode; kcptun does not have it. */
  AES_192_GCM("aes-192-gcm", 24, Layout.AEAD),
  /** AES-256 in GCM mode; kcptun does not have it. */
  AES_256_GCM("aes-256-gcm", 32, Layout.AEAD),
  /** ChaCha20-Poly1305 of RFC 8439; kcptun does not have it. */
  CHACHA20_POLY1305("chacha20-poly1305", 32, Layout.AEAD),
  /** Salsa20, keyed by the first 8 bytes of the packet. */
  SALSA20("salsa20", 32, Layout.CHECKSUM),
  /** Blowfish in CFB mode. */
  BLOWFISH("blowfish", 32, Layout.CHECKSUM),
  /** Twofish in CFB mode. */
  TWOFISH("twofish", 32, Layout.CHECKSUM),
  /** CAST-128 in CFB mode. */
  CAST5("cast5", 16, Layout.CHECKSUM),
  /** Triple DES in CFB mode. */
  TRIPLE_DES("3des", 24, Layout.CHECKSUM),
  /** TEA of 16 rounds, a quarter of the usual, in CFB mode. */
  TEA("tea", 16, Layout.CHECKSUM),
  /** XTEA of 64 rounds in CFB mode. */
  XTEA("xtea", 16, Layout.CHECKSUM),
  /** XOR with one pad for all packets, which provides no confidentiality. */
  XOR("xor", 32, Layout.CHECKSUM),
  /** SM4 in CFB mode. */
  SM4("sm4", 16, Layout.CHECKSUM),
  /** Nonce and checksum, and nothing encrypted. */
  NONE("none", 0, Layout.CHECKSUM),
  /** No crypto layer at all. */
  NULL("null", 0, Layout.UNENCRYPTED);

  private final String kcptunName;
  private final int keyBytes;
  private final Layout layout;

  CipherAlgorithm(String kcptunName, int keyBytes, Layout layout) {
    this.kcptunName = kcptunName;
    this.keyBytes = keyBytes;
    this.layout = layout;
  }

  /** The algorithm that kcptun's {@code --crypt} calls {@code name}. */
  public static CipherAlgorithm of(String name) {
    for (CipherAlgorithm algorithm : values()) {
      if (algorithm.kcptunName.equals(name)) {
        return algorithm;
      }
    }
    String names =
        Arrays.stream(values()).map(CipherAlgorithm::kcptunName).collect(Collectors.joining(", "));
    throw new IllegalArgumentException("cipher: " + name + " (expected: one of " + names + ")");
  }

  /** The name in kcptun's {@code --crypt}, for instance {@code aes-128-gcm}. */
  public String kcptunName() {
    return kcptunName;
  }

  /** Length of the key in bytes; 0 if it takes none. */
  public int keyBytes() {
    return keyBytes;
  }

  /** Bytes before the payload: 20 with a checksum, 12 for an AEAD, 0 without a crypto layer. */
  @Unstable
  public int headroom() {
    return layout.headroom;
  }

  /** Bytes behind the payload: 16 for an AEAD, else 0. */
  @Unstable
  public int tailroom() {
    return layout.tailroom;
  }

  /** Whether it is an AEAD, which detects every modification of a packet. */
  public boolean isAuthenticated() {
    return layout == Layout.AEAD;
  }

  /** The position of the payload in a packet; protocol.md 10.1. */
  private enum Layout {
    CHECKSUM(20, 0),
    AEAD(12, 16),
    UNENCRYPTED(0, 0);

    final int headroom;
    final int tailroom;

    Layout(int headroom, int tailroom) {
      this.headroom = headroom;
      this.tailroom = tailroom;
    }
  }
}
