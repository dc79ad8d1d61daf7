package io.kcp4j.netty;

import java.io.IOException;

/** A message was dropped. Has no stack trace, because many may be thrown in a short time. */
final class DroppedException extends IOException {

  private static final long serialVersionUID = 1L;

  DroppedException(String message) {
    super(message);
  }

  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
