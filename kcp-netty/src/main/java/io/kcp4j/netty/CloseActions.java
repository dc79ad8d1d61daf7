package io.kcp4j.netty;

/** The actions that release the parts of an object: if one throws, the others still run. */
final class CloseActions {

  private CloseActions() {}

  /**
   * Runs all actions in order.
   *
   * @throws RuntimeException or Error, the first that was thrown, with the others suppressed
   */
  static void runAll(Runnable... actions) {
    Throwable first = null;
    for (Runnable action : actions) {
      try {
        action.run();
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
