package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.EndReason;
import io.kcp4j.internal.session.Session;
import java.net.InetSocketAddress;

/** The channel of a session, as its {@link KcpEndpoint} sees it. Called by its event loop. */
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

  /** Whether a server has accepted the channel. */
  boolean isAccepted();

  /**
   * The session of a child that has passed through the server's pipeline, to be added to the table;
   * null if no handler has registered the child, or if it is closed.
   */
  Session accepted();

  /** The session of the child is in the table. */
  void added();

  /** The session may have received something. */
  void progressed();

  /**
   * The session has been flushed: there may be room to write. What is written now leaves in the
   * same batch.
   *
   * @return whether the channel has completed writes, whose listeners may have written more
   */
  boolean flushed();

  /** The peer has not answered for some time. */
  void unresponsive();

  /** The peer has shown that it is at another address. */
  void moved(InetSocketAddress remote);

  /** The session cannot go on. */
  void ended(EndReason reason);

  /** What the peer is told of the end. The channel closes. */
  Ending ending();

  /** Of {@link Ending#INCOMPLETE}: whether more is missing than what the session has. */
  boolean hasMore();

  /** The code with which the session is aborted. */
  int abortCode();
}
