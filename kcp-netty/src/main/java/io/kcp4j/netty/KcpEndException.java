package io.kcp4j.netty;

import io.kcp4j.session.EndReason;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * A session ended that its user did not end. It goes through the pipeline once, just before the
 * channel closes, and pending writes fail with it.
 */
public final class KcpEndException extends IOException {

  private static final long serialVersionUID = 1L;

  private final EndReason reason;

  KcpEndException(EndReason reason, InetSocketAddress remote) {
    super("session with " + remote + " ended: " + reason);
    this.reason = reason;
  }

  /** Why the session ended. */
  public EndReason reason() {
    return reason;
  }
}
