package io.kcp4j.crypto.vector;

import io.kcp4j.internal.crypto.Salsa20Kernel;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** A kernel for vectors of 512 bits, with four blocks in each vector. */
public final class QuadsKernel implements Salsa20Kernel {

  /** For the service loader. */
  public QuadsKernel() {
    Quads.check();
  }

  @Override
  public String name() {
    return "vector512";
  }

  @Override
  public Lanes prepare(byte[] key, int count) {
    return new QuadLanes(key, count);
  }

  /** Lanes whose blocks {@link Quads} compute. */
  private static final class QuadLanes implements Salsa20Kernel.Lanes {

    private static final VarHandle INT =
        MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

    private static final int[] SIGMA = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

    private final int count;
    private final int[] initial;
    private final int[] words;

    QuadLanes(byte[] key, int count) {
      this.count = count;
      initial = new int[count * Quads.INTS / Quads.BLOCKS];
      words = new int[initial.length];
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

    /** The index of a lane in the first diagonal of its quad. */
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
        Quads.finish(initial, words, at);
      }
    }

    @Override
    public void xor(int from, int to, byte[] data, int[] starts) {
      for (int lane = from; lane < to; lane++) {
        Quads.xor(words, lane * Quads.ROW_INTS, data, starts[lane]);
      }
    }
  }
}
