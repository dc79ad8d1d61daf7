package io.kcp4j.netty.internal;

/**
 * Counts what the peer of a connection makes a protocol over it keep, such as streams, if the
 * connection has a memory limit. Used by the connection's event loop, also after the connection has
 * closed.
 */
public interface ConnectionMemory {

  /** A connection without a memory limit, whose peer has proven its address. */
  ConnectionMemory UNLIMITED =
      new ConnectionMemory() {
        @Override
        public boolean tryReserveStream(int bytes) {
          return true;
        }

        @Override
        public boolean tryReserveChannel(int bytes) {
          return true;
        }

        @Override
        public void release(int bytes) {}

        @Override
        public boolean chargeUnread(int bytes) {
          return true;
        }

        @Override
        public void releaseUnread(int bytes) {}

        @Override
        public boolean isPeerValidated() {
          return true;
        }

        @Override
        public void validatePeer() {}

        @Override
        public boolean isRevoked() {
          return false;
        }
      };

  /**
   * Reserves {@code bytes} for the state of a stream that the peer opens, even to refuse it.
   *
   * @return false, with nothing reserved, if there is no room
   */
  boolean tryReserveStream(int bytes);

  /**
   * Reserves {@code bytes} for what the driver makes for such a stream. It has less room, so that
   * streams can be refused when there are many.
   *
   * @return false, with nothing reserved, if there is no room
   */
  boolean tryReserveChannel(int bytes);

  /** Releases what was reserved. */
  void release(int bytes);

  /**
   * Counts {@code bytes} that have arrived and were not read, with or without room for them.
   *
   * @return whether there is room; if not, nothing more should be read from the connection
   */
  boolean chargeUnread(int bytes);

  /** Releases what {@link #chargeUnread} has counted. */
  void releaseUnread(int bytes);

  /** Whether the peer has proven its address. If not, it may be forged. */
  boolean isPeerValidated();

  /** Asks the peer to prove its address. */
  void validatePeer();

  /**
   * Whether nothing may be kept of what has arrived: the connection has ended so that its memory
   * becomes free, or another one was refused memory since this was asked first, when the connection
   * had ended.
   */
  boolean isRevoked();
}
