package io.kcp4j;

/**
 * Why a session has ended, other than by a close of its user that succeeded. The first five are
 * those by which KCP itself fails.
 */
public enum EndReason {
  /** One segment was sent 20 times, and first {@link KcpConfig#userTimeoutMs()} ago. */
  DEAD_LINK,
  /** While segments were in flight, none was acknowledged for {@link KcpConfig#userTimeoutMs()}. */
  USER_TIMEOUT,
  /**
   * One of these, by a segment whose datagram exceeds 1,200 bytes: the path drops datagrams of that
   * size, and takes smaller ones. {@code KcpSessionClosedException} has the size. The wire has no
   * way to send what is in flight in smaller segments.
   */
  PATH_MTU,
  /** The peer's window was closed for {@link KcpConfig#zeroWindowTimeoutMs()}. */
  ZERO_WINDOW_TIMEOUT,
  /** In message mode: the peer's fragments do not count down to the end of a message. */
  PROTOCOL_VIOLATION,
  /** The peer has another {@link Delivery}. */
  DELIVERY_MISMATCHED,
  /** The delivery is {@link Delivery#LANES}, and the peer does not have the extension. */
  LANES_UNSUPPORTED,
  /** Nothing was received from the peer, and several keep-alive probes stayed unanswered. */
  KEEP_ALIVE_TIMEOUT,
  /**
   * One of {@link #DEAD_LINK}, {@link #USER_TIMEOUT} and {@link #KEEP_ALIVE_TIMEOUT}, of a session
   * whose peer has never shown that it receives what is sent to it.
   */
  HANDSHAKE_TIMEOUT,
  /**
   * The peer of an accepted session has not proven that it receives what is sent to it, and there
   * were too many such sessions.
   */
  EVICTED,
  /**
   * The session held memory that others waited for, and could not go on itself: see {@code
   * MEMORY_LIMIT}.
   */
  MEMORY_SHORTAGE,
  /**
   * The peer's address has begun more sessions than it may have, and this is the oldest of them. Or
   * the client has begun again, with the same address and conversation id.
   */
  SUPERSEDED,
  /**
   * The system has reported by ICMP that nobody listens at the peer's port, and nothing was
   * received from the peer since.
   */
  PORT_UNREACHABLE,
  /**
   * This side was closing the session, and the peer has not acknowledged everything: it was
   * unresponsive for {@code lingerMs}, it took longer than {@code lingerMaxMs}, or other sessions
   * waited for memory and this one delivered its data more slowly than others that were closing.
   */
  CLOSE_TIMEOUT,
  /** No payload moved in either direction for the idle timeout. */
  IDLE_TIMEOUT,
  /**
   * The peer was closing the session, and has given up before all that it had sent arrived. What
   * arrived in order could be read.
   */
  INPUT_INCOMPLETE,
  /** The peer has aborted the session. */
  RESET,
  /** The server has refused to begin the session. */
  REFUSED,
  /**
   * The peer does not know the session any more, as its stateless reset (RFC 9000 §10.3) or its
   * answer for an ended session says: it has restarted, it has ended the session while this process
   * stood still or the path was interrupted, or the client's address has changed.
   */
  SESSION_UNKNOWN,
  /**
   * The client of an accepted session has responded from another address, and no longer answers at
   * that of the session; or it has begun another session with the same conversation id, and
   * confirmed only that.
   */
  PEER_MOVED;

  /**
   * Whether the peer, which had answered before, stopped answering. False for {@link
   * #HANDSHAKE_TIMEOUT}, whose peer never answered, and for {@link #ZERO_WINDOW_TIMEOUT}, whose
   * peer answers that it has no room.
   */
  public boolean isTimeout() {
    return this == DEAD_LINK || this == USER_TIMEOUT || this == KEEP_ALIVE_TIMEOUT;
  }

  /** Whether this side has ended the session by itself, so that the peer can be told. */
  @Unstable
  public boolean isToldToPeer() {
    return switch (this) {
      case IDLE_TIMEOUT,
          DELIVERY_MISMATCHED,
          LANES_UNSUPPORTED,
          MEMORY_SHORTAGE,
          CLOSE_TIMEOUT,
          ZERO_WINDOW_TIMEOUT ->
          true;
      default -> false;
    };
  }
}
