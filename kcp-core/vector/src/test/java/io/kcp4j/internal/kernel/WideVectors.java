package io.kcp4j.internal.kernel;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jdk.incubator.vector.VectorShape;

/** The hardware requirement of the kernels of this artifact. */
public final class WideVectors {

  private static final int BITS = 512;

  private WideVectors() {}

  /** Skips a test on machines without vectors of 512 bits. */
  public static void assume() {
    int bits = VectorShape.preferredShape().vectorBitSize();
    assumeTrue(bits >= BITS, "kernels need vectors of 512 bits, this machine has " + bits);
  }
}
