package io.kcp4j.internal.wire;

import io.netty.buffer.ByteBuf;

/**
 * An extension of KCP. Its messages are the payload of WINS segments, which peers without the
 * extension skip: protocol.md 13. A message is the last segment of its datagram. {@code
 * Kcp.extension} sets the extension of a session.
 *
 * <p>All calls come from the thread of the session, within a call of the session. The extension
 * must not call the session from them, but for its getters.
 */
public interface KcpExtension {

  /**
   * The MTU or the overhead of the layers below is about to change. May be followed by another call
   * with the room as before, if the change fails.
   *
   * @param roomBytes how large a message may be that has a datagram of its own
   * @throws IllegalArgumentException if that is too small; nothing has changed then
   */
  default void fit(int roomBytes) {}

  /**
   * The room that datagrams with new payload leave for an offer, in bytes, its segment header
   * included. After a change the driver calls {@code Kcp.reconfigure}.
   */
  int reservedBytes();

  /**
   * The size of the offer that has to follow the PUSH {@code sn}, in bytes; 0 for none. Asked for
   * the first new segment of a flush, and whenever the first segment of the session is sent again.
   * At most {@link #reservedBytes} less the header, if that is not 0; without room reserved, the
   * offer is left out where there is none.
   */
  int offerBytes(int sn);

  /** The sequence number in the header of an offer, which others ignore. */
  default int offerSn() {
    return 0;
  }

  /**
   * The timestamp in the header of an offer, which others ignore.
   *
   * @param ts the present one
   */
  default int offerTs(int ts) {
    return ts;
  }

  /**
   * Whether the peer has closed the session, all of its input is here, and nothing is to be sent to
   * it. Nothing is to be expected from it any more, so no timeout ends the session.
   */
  default boolean isPeerDone() {
    return false;
  }

  /** Whether it is offered to a peer that has not answered. */
  default boolean isOffering() {
    return false;
  }

  /** The offer has been written behind the PUSH with this sequence number and timestamp. */
  void offered(int sn, int ts);

  /**
   * The size of the message that has to follow the ACKs of this flush, in bytes; 0 for none. Asked
   * only if there are any.
   */
  int ackMessageBytes(long nowUs);

  /**
   * The size of the message that has to end this flush, in bytes; 0 for none.
   *
   * @param roomBytes how large a message may be to join the last datagram; may be negative
   * @param mostBytes how large a message may be that has a datagram of its own
   */
  int messageBytes(int roomBytes, int mostBytes, long nowUs);

  /** The same for another message behind the one that was written last. */
  default int nextMessageBytes(int roomBytes, int mostBytes) {
    return 0;
  }

  /**
   * Writes the message whose size has been asked for last.
   *
   * @param out has room for exactly so many bytes at its writer index; belongs to the session
   */
  void write(ByteBuf out, long nowUs);

  /**
   * When a message has to leave though there may be nothing else to send, in microseconds, or
   * {@link Time#NO_DEADLINE}.
   */
  long deadlineUs();

  /** Whether a message has to leave now. */
  default boolean isDue(long nowUs) {
    return deadlineUs() <= nowUs;
  }

  /** Whether there is nothing to send, now or later. */
  default boolean isIdle() {
    return deadlineUs() == Time.NO_DEADLINE;
  }

  /**
   * An ACK has come for the segment {@code sn} in flight. Called only with timestamps with which
   * the segment was sent.
   */
  void acknowledged(int sn, int ts);

  /**
   * A message has been received. Everything else in its datagram has been applied before.
   *
   * @param datagram its bytes from {@code index} to {@code index + length} are the message, which
   *     follows the header of its segment; belongs to the caller
   * @param begins whether nothing had been received in order before this datagram
   * @param hasExactAck whether the datagram has an ACK of a segment in flight with a timestamp with
   *     which that was sent: its sender receives what is sent to the peer
   * @return whether its sender may know the session: else the datagram is no sign of life
   */
  boolean received(
      ByteBuf datagram, int index, int length, boolean begins, boolean hasExactAck, long nowUs);
}
