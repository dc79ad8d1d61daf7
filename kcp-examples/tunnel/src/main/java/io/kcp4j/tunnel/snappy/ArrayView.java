package io.kcp4j.tunnel.snappy;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/** Byte arrays as little-endian integers, at any index. */
final class ArrayView {

  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private ArrayView() {}

  static int intAt(byte[] array, int index) {
    return (int) INT.get(array, index);
  }

  static long longAt(byte[] array, int index) {
    return (long) LONG.get(array, index);
  }

  static void putInt(byte[] array, int index, int value) {
    INT.set(array, index, value);
  }

  static void putLong(byte[] array, int index, long value) {
    LONG.set(array, index, value);
  }
}
