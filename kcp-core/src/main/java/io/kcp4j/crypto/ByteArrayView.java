package io.kcp4j.crypto;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Access to byte arrays by ints and longs. */
final class ByteArrayView {

  static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final VarHandle NATIVE_LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private ByteArrayView() {}

  /**
   * XORs the mask into [{@code start}, {@code end}) of the data, and up to 7 bytes more. Both use
   * the same indices, without which C2 does not vectorise the loop.
   */
  static void xor(byte[] data, byte[] mask, int start, int end) {
    for (int i = start; i < end; i += Long.BYTES) {
      NATIVE_LONG.set(data, i, (long) NATIVE_LONG.get(data, i) ^ (long) NATIVE_LONG.get(mask, i));
    }
  }
}
