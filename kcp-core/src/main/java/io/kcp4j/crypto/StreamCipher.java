package io.kcp4j.crypto;

/** Encrypts and decrypts whole packets in place, without changing their lengths. */
interface StreamCipher {

  /** Encrypts every packet of the group. */
  void encrypt(PacketGroup group);

  /** Decrypts every packet of the group. */
  void decrypt(PacketGroup group);

  /** The cipher of {@link CipherAlgorithm#NONE}. */
  final class None implements StreamCipher {

    @Override
    public void encrypt(PacketGroup group) {}

    @Override
    public void decrypt(PacketGroup group) {}
  }
}
