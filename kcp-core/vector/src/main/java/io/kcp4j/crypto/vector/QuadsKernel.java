package io.kcp4j.crypto.vector;

import io.kcp4j.crypto.Salsa20Kernel;

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
}
