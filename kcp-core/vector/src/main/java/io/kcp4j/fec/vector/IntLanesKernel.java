package io.kcp4j.fec.vector;

import io.kcp4j.internal.fec.ShardKernel;

/**
 * A kernel for vectors of 512 bits that computes four outputs at a time. A table of sixteen ints,
 * which is one vector, has the products of a nibble with the coefficients of four outputs, a byte
 * for each; one instruction looks up sixteen nibbles. Byte tables of that width would need AVX-512
 * VBMI.
 *
 * <p>A single output, as after the loss of one packet, would not use most of the bytes. The
 * portable kernel computes it.
 */
public final class IntLanesKernel implements ShardKernel {

  private static final int MIN_OUTPUTS = 2;

  /** For the service loader. */
  public IntLanesKernel() {
    IntLanes.check();
  }

  @Override
  public String name() {
    return "vector512";
  }

  @Override
  public Product prepare(byte[][] coefficients) {
    if (coefficients.length < MIN_OUTPUTS) {
      return ShardKernel.portable().prepare(coefficients);
    }
    return new IntLanesProduct(coefficients);
  }

  @Override
  public void multiply(byte[][] coefficients, long[][] inputs, long[][] outputs, int longs) {
    if (coefficients.length < MIN_OUTPUTS) {
      ShardKernel.portable().multiply(coefficients, inputs, outputs, longs);
    } else {
      new IntLanesProduct(coefficients).multiply(inputs, outputs, longs);
    }
  }
}
