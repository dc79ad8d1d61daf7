package io.kcp4j.netty;

import io.netty.util.internal.logging.InternalLogger;

/**
 * Logs exceptions that nobody expected, with their stack traces: one in ten seconds, since while
 * memory is short, for example, every datagram may cause one. Belongs to one thread.
 */
final class ExceptionLog {

  private final InternalLogger logger;
  private final LogLimit limit = new LogLimit();

  ExceptionLog(InternalLogger logger) {
    this.logger = logger;
  }

  /**
   * Logs an exception, or counts it for the next line.
   *
   * @param source what has thrown it
   */
  void warn(Object source, Throwable cause, long nowMs) {
    if (!limit.passes(nowMs)) {
      return;
    }
    long untold = limit.takeHeldBack();
    if (untold == 0) {
      logger.warn("{} unexpected exception", source, cause);
    } else {
      logger.warn("{} unexpected exception, after {} not logged", source, untold, cause);
    }
  }
}
