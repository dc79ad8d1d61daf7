package io.kcp4j.crypto.vector;

import io.kcp4j.crypto.Salsa20Kernel;

/** For vectors of 512 bits: four blocks side by side in each. */
public final class QuadsKernel implements Salsa20Kernel {

  /** Made by services only. */
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
}
