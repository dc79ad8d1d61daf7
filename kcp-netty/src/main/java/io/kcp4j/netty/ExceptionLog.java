package io.kcp4j.netty;

import io.netty.util.internal.logging.InternalLogger;

/**
 * Logs unexpected exceptions with their stack traces, one in ten seconds, because every datagram
 * may cause one, for example while memory is short. Used by one thread.
 */
final class ExceptionLog {

  private final InternalLogger logger;
  private final LogLimit limit = new LogLimit();

  ExceptionLog(InternalLogger logger) {
    this.logger = logger;
  }

  /**
   * Logs an exception, or only counts it.
   *
   * @param source the channel or event loop that it comes from
   */
  void warn(Object source, Throwable cause, long nowUs) {
    if (!limit.tryAcquire(nowUs)) {
      return;
    }
    long suppressed = limit.takeSuppressed();
    if (suppressed == 0) {
      logger.warn("{} unexpected exception", source, cause);
    } else {
      logger.warn("{} unexpected exception ({} more were not logged)", source, suppressed, cause);
    }
  }
}
