package io.kcp4j.session;

import io.netty.buffer.ByteBuf;

/**
 * An unreliable datagram to be sent, which is notified of its fate: one of the two methods is
 * called, once, on the session's thread, after the datagram's buffer was released. They are called
 * while the session is at work: they must neither throw nor use the session.
 */
public interface UnreliableSend {

  /** Why a datagram was not sent. */
  enum Drop {
    /** The queue was full, and newer datagrams were added. */
    QUEUE_FULL,
    /** The MTU has become too small for it while it waited. */
    TOO_LARGE,
    /** The peer does not have the extension, and there is no FEC: it takes none. */
    UNSUPPORTED,
    /** The memory limit was reached. */
    OUT_OF_MEMORY,
    /** The session was closed first. */
    CLOSED
  }

  /** Returns a datagram whose fate nobody asks for. */
  static UnreliableSend unobserved(ByteBuf content) {
    return new Unobserved(content);
  }

  /** The datagram, which is the session's from {@link Session#sendUnreliable} on. */
  ByteBuf content();

  /** It was written to the output. The network may still lose it. */
  void sent();

  /** It was dropped without being sent. */
  void dropped(Drop reason);

  /** A datagram whose fate nobody asks for. */
  record Unobserved(ByteBuf content) implements UnreliableSend {
    @Override
    public void sent() {}

    @Override
    public void dropped(Drop reason) {}
  }
}
