package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.internal.session.Session;

/**
 * What a {@link KcpEndpoint} asks of the channel of a session that begins or closes. What else
 * concerns the session, the channel is told as its {@link Session.Owner}. Called by the event loop
 * of the endpoint.
 */
public interface SessionChannel {

  /** What the peer is told when the channel closes. */
  enum Ending {
    /** It has everything that was flushed. */
    COMPLETE,
    /** It can read what has arrived, and more is missing. */
    INCOMPLETE,
    /** The session is aborted. */
    ABORTED
  }

  /**
   * The session of a child that has passed through the server's pipeline, to be added to the table;
   * null if no handler has registered the child, or if it is closed.
   */
  Session accepted();

  /** The session of the child is in the table. */
  void added();

  /** What the peer is told of the end. The channel closes. */
  Ending ending();

  /** Of {@link Ending#INCOMPLETE}: whether more is missing than what the session has. */
  boolean hasMore();

  /** The code with which the session is aborted. */
  int abortCode();
}
