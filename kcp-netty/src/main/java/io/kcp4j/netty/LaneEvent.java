package io.kcp4j.netty;

/**
 * What happens on a lane beside its messages: a user event of a {@link KcpChannel}'s pipeline.
 *
 * @param lane the lane's id
 * @param type what has happened
 */
public record LaneEvent(int lane, Type type) {

  /** What has happened. */
  public enum Type {
    /** As much waits to be sent as the high water mark of the channel. */
    UNWRITABLE,

    /** After {@link #UNWRITABLE}, less waits than the low water mark. */
    WRITABLE,

    /** The peer has ended the lane in its direction, and all of its messages have been read. */
    INPUT_ENDED,

    /** The peer reads the lane no more: what waited to be sent has been dropped. */
    STOP_SENDING,

    /** The peer has read this side's end of the lane, which may be begun again. */
    END_READ
  }
}
