package io.kcp4j.fuzz;

import java.util.function.Supplier;

/** Assertions of the fuzz targets, which hold whether or not Java assertions are enabled. */
final class Check {

  private Check() {}

  static void that(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }

  static void that(boolean holds, Supplier<String> otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise.get());
    }
  }
}
