package io.kcp4j.fec.vector;

import io.kcp4j.internal.fec.ShardKernel;

/** A matrix as tables for {@link IntLanes}: for each four outputs, for each input. */
final class IntLanesProduct implements ShardKernel.Product {

  private static final int TOP_BITS = 0x80808080;

  /** The reduction of x^8 in each byte. */
  private static final int REDUCTION = 0x1D1D1D1D;

  /** 16 KiB of twenty inputs. */
  private static final int BLOCK_LONGS = 96;

  private final int[] tables;
  private final int tablesPerQuad;

  /** For shards that are shorter than a vector. */
  private final ShardKernel.Product portable;

  IntLanesProduct(byte[][] coefficients) {
    int inputs = coefficients[0].length;
    int quads = (coefficients.length + IntLanes.OUTPUTS - 1) / IntLanes.OUTPUTS;
    tablesPerQuad = inputs * IntLanes.TABLE_INTS;
    tables = new int[quads * tablesPerQuad];
    for (int out = 0; out < coefficients.length; out += IntLanes.OUTPUTS) {
      for (int in = 0; in < inputs; in++) {
        int at = out / IntLanes.OUTPUTS * tablesPerQuad + in * IntLanes.TABLE_INTS;
        fill(at, quad(coefficients, out, in));
      }
    }
    portable = ShardKernel.portable().prepare(coefficients);
  }

  /** The coefficients of four outputs for one input, the first in the lowest byte. */
  private static int quad(byte[][] coefficients, int firstOut, int in) {
    int quad = 0;
    for (int i = Math.min(IntLanes.OUTPUTS, coefficients.length - firstOut) - 1; i >= 0; i--) {
      quad = quad << Byte.SIZE | Byte.toUnsignedInt(coefficients[firstOut + i][in]);
    }
    return quad;
  }

  /** Writes the products of a quad with 0 to 15, and with 16 times those. */
  private void fill(int at, int quad) {
    int multiple = quad;
    for (int half = at; half < at + IntLanes.TABLE_INTS; half += IntLanes.TABLE_INTS / 2) {
      for (int bit = 1; bit < IntLanes.TABLE_INTS / 2; bit <<= 1) {
        for (int i = 0; i < bit; i++) {
          tables[half + bit + i] = tables[half + i] ^ multiple;
        }
        multiple = doubled(multiple);
      }
    }
  }

  /** Four elements of the field times 2. */
  private static int doubled(int a) {
    int top = a & TOP_BITS;
    return (a ^ top) << 1 ^ (top - (top >>> 7) & REDUCTION);
  }

  @Override
  public void multiply(long[][] inputs, long[][] outputs, int longs) {
    if (longs < IntLanes.LONGS) {
      portable.multiply(inputs, outputs, longs);
      return;
    }
    // Consecutive quads find the inputs in the L1 cache.
    for (int start = 0; start < longs; start += BLOCK_LONGS) {
      multiply(
          inputs,
          outputs,
          Math.min(start, longs - IntLanes.LONGS),
          Math.min(start + BLOCK_LONGS, longs));
    }
  }

  private void multiply(long[][] inputs, long[][] outputs, int start, int end) {
    int at = 0;
    for (int out = 0; out < outputs.length; out += IntLanes.OUTPUTS) {
      IntLanes.multiply(tables, at, inputs, outputs, out, start, end);
      at += tablesPerQuad;
    }
  }
}
