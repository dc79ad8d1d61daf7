package io.kcp4j.netty;

import io.kcp4j.EndReason;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * The end of a session that its user has not closed. Fired through the pipeline once, before the
 * channel closes, unless a server's peer has never shown that it receives what is sent to it;
 * pending writes fail with it. Has no stack trace, because peers can end sessions at will.
 */
public final class KcpEndException extends IOException {

  private static final long serialVersionUID = 1L;

  private final EndReason reason;
  private final int code;

  /**
   * Makes an exception.
   *
   * @param detail more about the reason, or empty
   */
  KcpEndException(EndReason reason, int code, InetSocketAddress remote, String detail) {
    super("session with " + remote + " ended: " + reason + (detail.isEmpty() ? "" : ", " + detail));
    this.reason = reason;
    this.code = code;
  }

  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }

  /** The reason for the end. */
  public EndReason reason() {
    return reason;
  }

  /** The code that the peer has given to {@link KcpChannel#abort}; 0 for any other reason. */
  public int code() {
    return code;
  }
}
