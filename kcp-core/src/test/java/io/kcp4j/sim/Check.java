package io.kcp4j.sim;

import java.util.function.Supplier;

/** Assertions of the simulator. A message that is supplied is made only on failure. */
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
