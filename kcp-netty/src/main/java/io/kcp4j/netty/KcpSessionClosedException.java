package io.kcp4j.netty;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * The end of a session that its user has not closed. Fired through the pipeline once, before the
 * channel closes, unless a server's peer has never shown that it receives what is sent to it;
 * pending writes fail with it. Has no stack trace, because peers can end sessions at will.
 */
public final class KcpSessionClosedException extends IOException {

  private static final long serialVersionUID = 1L;

  private final EndReason reason;

  /** Null if the peer has said nothing. A {@link CloseReason} cannot be serialized. */
  private final String peerText;

  private final int peerCode;

  /**
   * Makes an exception.
   *
   * @param peerReason what the peer has said, or null
   * @param detail more about the reason, or empty
   */
  KcpSessionClosedException(
      EndReason reason, CloseReason peerReason, InetSocketAddress remote, String detail) {
    super("session with " + remote + " ended: " + reason + (detail.isEmpty() ? "" : ", " + detail));
    this.reason = reason;
    this.peerText = peerReason == null ? null : peerReason.text();
    this.peerCode = peerReason == null ? 0 : peerReason.code();
  }

  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }

  /** The reason for the end. */
  public EndReason reason() {
    return reason;
  }

  /**
   * What the peer's application has said, if the reason is {@link EndReason#RESET} or {@link
   * EndReason#REFUSED}; else null.
   */
  public CloseReason peerReason() {
    return peerText == null ? null : new CloseReason(peerCode, peerText);
  }
}
