package io.kcp4j;

import io.netty.buffer.ByteBuf;

/**
 * Takes the datagrams of a session as they are written: {@code begin}, the session writes into the
 * buffer, {@code end}. The buffer belongs to the output; the session neither retains nor releases
 * it, and touches nothing before the writer index that it found.
 */
public interface DatagramOutput {

  /**
   * Begins a datagram.
   *
   * @param maxBytes the most that the session will write into it
   * @return where to write, from its writer index on; at least {@code maxBytes} are writable
   */
  ByteBuf begin(int maxBytes);

  /** Ends the datagram that was begun: all that was written since then is its payload. */
  void end();
}
