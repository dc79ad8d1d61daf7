package io.kcp4j.netty;

import io.netty.util.internal.logging.InternalLogger;

/**
 * Logs exceptions of a kind with their stack traces, one in ten seconds, because every datagram may
 * cause one, for example while memory is short. Used by one thread.
 */
final class ExceptionLog {

  /** The kind of an exception that kcp4j itself does not expect. */
  static final String UNEXPECTED = "unexpected exception";

  private final InternalLogger logger;
  private final String kind;
  private final LogLimit limit = new LogLimit();

  ExceptionLog(InternalLogger logger, String kind) {
    this.logger = logger;
    this.kind = kind;
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
      logger.warn("{} {}", source, kind, cause);
    } else {
      logger.warn("{} {} ({} more were not logged)", source, kind, suppressed, cause);
    }
  }
}
