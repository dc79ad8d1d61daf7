package io.kcp4j.internal.lanes;

import io.kcp4j.internal.wire.Copying;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * A message to be sent on a lane, or an unreliable datagram to be sent by a session. It is notified
 * of its fate: one of the two methods is called, once, on the session's thread, after the buffer
 * was released. They must neither throw nor use the session or its lanes: they are called in the
 * middle of a flush, or while a queue is changed.
 */
public abstract class OutboundMessage {

  /** Why a message was not sent. */
  public enum Drop {
    /** The lane was aborted, or the peer has stopped reading it. */
    LANE_CLOSED,
    /** The peer takes no lane with this id. */
    NO_SUCH_LANE,
    /** The message is larger than the peer takes, or than a datagram with the present MTU. */
    TOO_LARGE,
    /** Its buffer was released, or made smaller, after the message was passed to its lane. */
    UNREADABLE,
    /** The message is unreliable, and newer ones were sent than its queue has room for. */
    QUEUE_FULL,
    /** An unreliable datagram: the peer does not have the extension, and FEC is off. */
    UNSUPPORTED,
    /** An unreliable datagram: the memory limit was reached. */
    OUT_OF_MEMORY,
    /** The session was closed first. */
    SESSION_CLOSED
  }

  private final ByteBuf content;

  // Where the content begins, its size, and that of its buffer, as they were when it was queued.

  private int index;
  private int bytes;
  private int capacity;

  /** The lane on which it is sent; null for an unreliable datagram of a session. */
  Lane lane;

  /** The one behind it in its queue. */
  private OutboundMessage next;

  /**
   * Makes a message.
   *
   * @param content the session's, once the message has been passed to a lane or a session
   */
  protected OutboundMessage(ByteBuf content) {
    this.content = Objects.requireNonNull(content, "content");
  }

  /** Makes a message whose fate nobody asks for. */
  public static OutboundMessage unobserved(ByteBuf content) {
    return new Unobserved(content);
  }

  /** The content. */
  public final ByteBuf content() {
    return content;
  }

  /** Takes over the buffer: its indices may change without effect from now on. */
  public final void queued() {
    index = content.readerIndex();
    bytes = content.readableBytes();
    capacity = content.capacity();
  }

  /** The size of the content, in bytes, when it was {@link #queued}. */
  public final int bytes() {
    return bytes;
  }

  /** The capacity of the buffer, in bytes, when it was {@link #queued}. */
  public final int capacity() {
    return capacity;
  }

  /** Whether the content can be read: the user has not released the buffer or made it smaller. */
  public final boolean isReadable() {
    return content.refCnt() > 0 && index + bytes <= content.capacity();
  }

  /**
   * Copies content to the position of {@code out}, up to its limit.
   *
   * @throws RuntimeException if the user has released the buffer or made it smaller
   */
  final void copy(int offset, ByteBuffer out) {
    Copying.get(content, index + offset, out);
  }

  /**
   * A view of the content from {@code offset} to its end. Null if the memory is not contiguous, or
   * the user has released the buffer or made it smaller.
   */
  final ByteBuffer view(int offset) {
    try {
      boolean isOnePart = content.nioBufferCount() == 1;
      return isOnePart ? content.nioBuffer(index + offset, bytes - offset) : null;
    } catch (RuntimeException e) {
      return null;
    }
  }

  /** Appends all of the content; throws likewise. */
  public final void copy(ByteBuf out) {
    out.writeBytes(content, index, bytes);
  }

  /** Releases the buffer, unless the user has done so. */
  final void release() {
    if (content.refCnt() > 0) {
      content.release();
    }
  }

  /** Releases the buffer of a message that was sent, and notifies it. */
  public final void succeed() {
    release();
    sent();
  }

  /** Releases the buffer of a message that is not sent, and notifies it. */
  public final void drop(Drop reason) {
    release();
    dropped(reason);
  }

  /**
   * All of it has been copied into segments, which are retransmitted until they have arrived; or,
   * if it is unreliable, into a datagram, which the network may lose.
   */
  protected abstract void sent();

  /** It was dropped, though a part of it may have been sent. */
  protected abstract void dropped(Drop reason);

  private static final class Unobserved extends OutboundMessage {

    Unobserved(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }

  /**
   * Messages that wait, in order. A message is in one queue at most.
   *
   * @param <M> what the queue holds
   */
  public static class Queue<M extends OutboundMessage> {

    private OutboundMessage first;
    private OutboundMessage last;
    private int messages;

    /** Whether no message waits. */
    public final boolean isEmpty() {
      return first == null;
    }

    /** How many messages wait. */
    public final int messages() {
      return messages;
    }

    /** The oldest message, which stays in the queue, or null. */
    @SuppressWarnings("unchecked") // only such messages are added
    public final M first() {
      return (M) first;
    }

    /** Whether a message of the lane waits. */
    final boolean contains(Lane lane) {
      OutboundMessage message = first;
      while (message != null && !lane.equals(message.lane)) {
        message = message.next;
      }
      return message != null;
    }

    /** Adds a message behind the others. */
    public void add(M message) {
      if (first == null) {
        first = message;
      } else {
        last.next = message;
      }
      last = message;
      messages++;
    }

    /** Removes the oldest message. The queue must not be empty. */
    @SuppressWarnings("unchecked")
    public M remove() {
      OutboundMessage removed = first;
      first = removed.next;
      removed.next = null;
      messages--;
      if (first == null) {
        last = null;
      }
      return (M) removed;
    }
  }
}
