package io.kcp4j.session;

import io.netty.buffer.ByteBuf;

/**
 * An unreliable datagram to be sent, which wants to know what becomes of it: exactly one of the two
 * methods is called, once, on the session's thread, after the datagram's buffer was released. They
 * are called in the midst of the session's work: they must neither throw nor use the session.
 */
public interface UnreliableSend {

  /** Why a datagram was not sent. */
  enum Drop {
    /** The queue was full, and newer ones came. */
    GAVE_WAY,
    /** The memory limit was reached. */
    OUT_OF_MEMORY,
    /** The session was closed first. */
    CLOSED
  }

  /** The datagram; the session's from {@link Session#sendUnreliable} on. */
  ByteBuf content();

  /** It was written to the output: what happens to it on its way nobody knows. */
  void sent();

  /** It was not sent, and will not be. */
  void dropped(Drop reason);
}
