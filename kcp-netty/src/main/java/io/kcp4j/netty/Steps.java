package io.kcp4j.netty;

/** Runs all steps of closing something, so that one that fails leaves nothing open. */
final class Steps {

  private Steps() {}

  /**
   * Runs each step, in order, whatever the ones before have thrown.
   *
   * @throws RuntimeException or Error: the first that was thrown, with the others suppressed
   */
  static void runAll(Runnable... steps) {
    Throwable first = null;
    for (Runnable step : steps) {
      try {
        step.run();
      } catch (RuntimeException | Error e) {
        if (first == null) {
          first = e;
        } else if (first != e) {
          first.addSuppressed(e);
        }
      }
    }
    if (first instanceof Error error) {
      throw error;
    }
    if (first != null) {
      throw (RuntimeException) first;
    }
  }
}
