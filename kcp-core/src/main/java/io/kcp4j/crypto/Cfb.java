package io.kcp4j.crypto;

/** The initial vector of all ciphers in CFB mode. */
final class Cfb {

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

  private Cfb() {}

  static byte[] initialVector() {
    return INITIAL_VECTOR.clone();
  }
}
