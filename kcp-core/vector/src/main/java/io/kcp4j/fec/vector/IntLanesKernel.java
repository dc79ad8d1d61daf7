package io.kcp4j.fec.vector;

import io.kcp4j.fec.ShardKernel;

/**
 * For vectors of 512 bits: four outputs at a time. A table of sixteen ints, which is one vector,
 * has the products of a nibble with the coefficients of four outputs, a byte for each; one
 * instruction looks up sixteen nibbles. Byte tables of that width would need AVX-512 VBMI.
 *
 * <p>A single output, as when one packet was lost, would leave most of the bytes unused. It goes to
 * the portable kernel.
 */
public final class IntLanesKernel implements ShardKernel {

  private static final int MIN_OUTPUTS = 2;

  /** Made by services only. */
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
