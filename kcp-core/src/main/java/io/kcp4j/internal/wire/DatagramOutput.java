package io.kcp4j.internal.wire;

import io.netty.buffer.ByteBuf;

/**
 * Takes the datagrams of a session as they are written: {@code begin}, the session writes into the
 * buffer, {@code end}. The buffer belongs to the output; the session neither retains nor releases
 * it, and changes nothing before the writer index that it found. Datagrams that are complete in a
 * buffer of the session come by {@code send}. After the last one of a flush follows {@code
 * endFlush}. Only from there may an output flush another session.
 */
public interface DatagramOutput {

  /**
   * Returns into how many datagrams of about equal size to split the new segments of a flush; 0,
   * the default: as few as possible. Asked at the beginning of a flush that sends everything that
   * is queued, if that is little: at most 64 full datagrams.
   *
   * @param sn the first new segment; segments before it that the flush contains are retransmissions
   * @param bytes the bytes that are queued, in message mode with the headers of segments
   * @param datagramBytes how many of them fit into a datagram
   * @param maxDatagrams the most datagrams that may leave now
   */
  default int splitFlush(int sn, int bytes, int datagramBytes, int maxDatagrams) {
    return 0;
  }

  /**
   * Begins a datagram.
   *
   * @param maxBytes the most that the session will write into it
   * @return where to write, from its writer index on; at least {@code maxBytes} are writable
   */
  ByteBuf begin(int maxBytes);

  /** Ends the datagram that was begun: the bytes written since then are its payload. */
  void end();

  /**
   * Takes whole datagrams that are contiguous in {@code data}; by default copies each between
   * {@code begin} and {@code end}. The buffer belongs to the session, which may release it after
   * the call: an output that has not sent the bytes by then retains it. Neither of the two writes
   * to these bytes any more.
   *
   * @param index where the first begins
   * @param bytes the bytes of all of them
   * @param datagramBytes the bytes of each but the last, which may be shorter
   */
  default void send(ByteBuf data, int index, int bytes, int datagramBytes) {
    for (int at = index, end = index + bytes, taken; at < end; at += taken) {
      taken = Math.min(datagramBytes, end - at);
      Copying.appendOwn(begin(taken), data, at, taken);
      end();
    }
  }

  /**
   * Ends a flush. Called once after each flush that has written a datagram; if a flush throws,
   * after the next one that writes. Does nothing by default.
   */
  default void endFlush() {}
}
