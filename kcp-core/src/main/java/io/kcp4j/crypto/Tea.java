package io.kcp4j.crypto;

/** TEA of Wheeler and Needham with 16 rounds, which are 8 cycles, as in kcp-go; big-endian. */
final class Tea implements BlockCipher {

  private static final int CYCLES = 8;
  private static final int DELTA = 0x9e3779b9;

  private final int k0;
  private final int k1;
  private final int k2;
  private final int k3;

  Tea(byte[] key) {
    k0 = word(key, 0);
    k1 = word(key, 4);
    k2 = word(key, 8);
    k3 = word(key, 12);
  }

  private static int word(byte[] bytes, int index) {
    return Integer.reverseBytes((int) PacketGroup.INT.get(bytes, index));
  }

  @Override
  public int blockBytes() {
    return 2 * Integer.BYTES;
  }

  @Override
  public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
    int v0 = word(in, inIndex);
    int v1 = word(in, inIndex + Integer.BYTES);
    int sum = 0;
    for (int cycle = 0; cycle < CYCLES; cycle++) {
      sum += DELTA;
      v0 += ((v1 << 4) + k0) ^ (v1 + sum) ^ ((v1 >>> 5) + k1);
      v1 += ((v0 << 4) + k2) ^ (v0 + sum) ^ ((v0 >>> 5) + k3);
    }
    PacketGroup.INT.set(out, outIndex, Integer.reverseBytes(v0));
    PacketGroup.INT.set(out, outIndex + Integer.BYTES, Integer.reverseBytes(v1));
  }
}
