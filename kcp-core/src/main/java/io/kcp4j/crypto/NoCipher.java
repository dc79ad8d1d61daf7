package io.kcp4j.crypto;

/** No crypto layer: protocol.md 10.1. */
final class NoCipher extends KeyCipher {

  @Override
  void seal(PacketBurst burst) {}

  @Override
  int open(PacketBurst burst, int[] pending, int count, int minPayloadBytes) {
    return 0;
  }
}
