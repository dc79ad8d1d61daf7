package io.kcp4j.crypto.vector;

import io.kcp4j.crypto.Salsa20Kernel;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Lanes whose blocks are computed in {@link Quads}. */
final class QuadLanes implements Salsa20Kernel.Lanes {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final int[] SIGMA = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  private static final int BLOCK_INTS = 16;
  private static final int SIDE_BYTES = Integer.BYTES * Quads.SIDE_INTS;
  private static final int ROW_BYTES = Integer.BYTES * Quads.ROW_INTS;

  private final int count;
  private final int[] initial;
  private final int[] words;
  private final byte[] stream;

  QuadLanes(byte[] key, int count) {
    this.count = count;
    initial = new int[count * BLOCK_INTS];
    words = new int[initial.length];
    stream = new byte[Integer.BYTES * initial.length];
    int[] k = new int[8];
    for (int i = 0; i < k.length; i++) {
      k[i] = (int) INT.get(key, Integer.BYTES * i);
    }
    for (int lane = 0; lane < count; lane++) {
      fill(lane, Quads.A, SIGMA);
      fill(lane, Quads.B, k[3], 0, k[7], k[2]);
      fill(lane, Quads.C, 0, k[6], k[1], 0);
      fill(lane, Quads.D, k[5], k[0], 0, k[4]);
    }
  }

  private void fill(int lane, int diagonal, int... square) {
    System.arraycopy(square, 0, initial, start(lane) + diagonal, square.length);
  }

  /** Where a lane's part of its quad's first diagonal begins. */
  private static int start(int lane) {
    return lane / Quads.BLOCKS * Quads.INTS + lane % Quads.BLOCKS * Quads.SIDE_INTS;
  }

  @Override
  public int count() {
    return count;
  }

  @Override
  public void set(int lane, int nonceLow, int nonceHigh, int block) {
    int start = start(lane);
    initial[start + Quads.D + 2] = nonceLow;
    initial[start + Quads.C + 3] = nonceHigh;
    initial[start + Quads.C] = block;
  }

  @Override
  public void compute(int used) {
    int end = (used + Quads.BLOCKS - 1) / Quads.BLOCKS * Quads.INTS;
    for (int at = 0; at < end; at += Quads.AT_ONCE * Quads.INTS) {
      Quads.rounds(initial, words, at);
    }
    for (int at = 0; at < end; at += Quads.INTS) {
      Quads.finish(initial, words, stream, at);
    }
  }

  @Override
  public void xor(int from, int to, byte[] data, int[] starts) {
    for (int lane = from; lane < to; lane++) {
      int at = starts[lane];
      int row = Integer.BYTES * start(lane);
      xorRow(data, at, row);
      xorRow(data, at + SIDE_BYTES, row + ROW_BYTES);
      xorRow(data, at + 2 * SIDE_BYTES, row + 2 * ROW_BYTES);
      xorRow(data, at + 3 * SIDE_BYTES, row + 3 * ROW_BYTES);
    }
  }

  private void xorRow(byte[] data, int at, int row) {
    xor(data, at, row);
    xor(data, at + Long.BYTES, row + Long.BYTES);
  }

  private void xor(byte[] data, int at, int streamAt) {
    LONG.set(data, at, (long) LONG.get(data, at) ^ (long) LONG.get(stream, streamAt));
  }
}
