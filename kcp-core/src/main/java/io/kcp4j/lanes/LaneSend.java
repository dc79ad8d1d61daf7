package io.kcp4j.lanes;

import io.kcp4j.Copying;
import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * A message to be sent on a lane, which is notified of its fate: one of the two methods is called,
 * once, on the session's thread, after the buffer was released. They must neither throw nor use the
 * session or its lanes: they are called in the middle of a flush, or while a queue is changed.
 */
@Unstable
public abstract class LaneSend {

  /** Why a message was not sent. */
  public enum Drop {
    /** The lane was aborted, or the peer has stopped reading it. */
    LANE_CLOSED,
    /** The peer takes no lane with this id. */
    NO_SUCH_LANE,
    /** The message is larger than the peer takes. */
    TOO_LARGE,
    /** Its buffer was released, or made smaller, after it was passed to {@link Lane#send}. */
    UNREADABLE,
    /** The message is unreliable, and newer ones were sent on its lane than the queue has room. */
    QUEUE_FULL,
    /** The session was closed first. */
    SESSION_CLOSED
  }

  private final ByteBuf content;

  // Where the content begins, and its size, as they were when it was queued.

  private int index;
  private int bytes;

  /** The one behind it in a queue, or in the list of those that have been copied. */
  LaneSend next;

  /**
   * Makes a message.
   *
   * @param content the session's from {@link Lane#send} on
   */
  protected LaneSend(ByteBuf content) {
    this.content = Objects.requireNonNull(content, "content");
  }

  /** The content. */
  public final ByteBuf content() {
    return content;
  }

  /** Takes over the buffer: its indices may change without effect from now on. */
  final void queued() {
    index = content.readerIndex();
    bytes = content.readableBytes();
  }

  /** The size of the content, in bytes. */
  final int bytes() {
    return bytes;
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
  final void copy(ByteBuf out) {
    out.writeBytes(content, index, bytes);
  }

  /** Releases the buffer, unless the user has done so. */
  final void release() {
    if (content.refCnt() > 0) {
      content.release();
    }
  }

  /** All of it has been copied into segments, which are retransmitted until they have arrived. */
  protected abstract void sent();

  /** It was dropped, though a part of it may have been sent. */
  protected abstract void dropped(Drop reason);
}
