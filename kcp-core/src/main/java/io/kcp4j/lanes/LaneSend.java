package io.kcp4j.lanes;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import java.util.Objects;

/**
 * A message to be sent on a lane, which is notified of its fate: one of the two methods is called,
 * once, on the session's thread, after the buffer was released. They are called while the session
 * is at work: they must neither throw nor use the session or its lanes.
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
    /** The message is unreliable, and newer ones were sent on its lane than the queue has room. */
    QUEUE_FULL,
    /** The session was closed first. */
    SESSION_CLOSED
  }

  private final ByteBuf content;

  /** The one behind it in a queue. */
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

  /** All of it has been copied into segments, which are retransmitted until they have arrived. */
  protected abstract void sent();

  /** It was dropped, though a part of it may have been sent. */
  protected abstract void dropped(Drop reason);
}
