package io.kcp4j.sim;

import java.util.function.Supplier;

/** What a simulation says when a promise is broken; its message is made only then. */
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
