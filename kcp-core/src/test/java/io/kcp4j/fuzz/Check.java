package io.kcp4j.fuzz;

/** What must hold whatever is sent: said without a condition on assertions being enabled. */
final class Promise {

  private Promise() {}

  static void that(boolean holds, String otherwise) {
    if (!holds) {
      throw new AssertionError(otherwise);
    }
  }
}
