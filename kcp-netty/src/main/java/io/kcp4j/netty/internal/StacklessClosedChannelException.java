package io.kcp4j.netty.internal;

import java.nio.channels.ClosedChannelException;

/**
 * A peer has ended the channel. Has no stack trace: a peer may do that often, and it says nothing.
 */
public final class StacklessClosedChannelException extends ClosedChannelException {

  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param cause why the channel has ended, or null
   */
  public StacklessClosedChannelException(Throwable cause) {
    initCause(cause);
  }

  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }
}
