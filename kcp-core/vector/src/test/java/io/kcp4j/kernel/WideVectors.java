package io.kcp4j.kernel;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jdk.incubator.vector.VectorShape;

/** What the kernels of this artifact need. */
public final class WideVectors {

  private static final int BITS = 512;

  private WideVectors() {}

  /** Leaves a test out where the machine has no vectors of 512 bits. */
  public static void assume() {
    int bits = VectorShape.preferredShape().vectorBitSize();
    assumeTrue(bits >= BITS, "kernels need vectors of 512 bits, this machine has " + bits);
  }
}
