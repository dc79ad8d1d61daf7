package io.kcp4j.crypto;

import java.nio.charset.StandardCharsets;

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
