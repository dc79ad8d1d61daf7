package io.kcp4j.crypto;

/** No crypto layer; protocol.md 10.1. */
final class NoCipher extends KeyCipher {

  @Override
  void seal(PacketBatch batch) {}

  @Override
  int open(PacketBatch batch, int[] pending, int count, int minPayloadBytes) {
    return 0;
  }
}
