package io.kcp4j;

import io.kcp4j.internal.congestion.BbrCongestionControl;
import io.kcp4j.internal.congestion.NoCongestionControl;
import io.kcp4j.internal.congestion.RenoCongestionControl;

/**
 * Congestion control: limits the segments in flight, beside the limits of the send window and of
 * the peer's window, and the rate at which segments leave.
 *
 * <p>One object serves one session, on that session's thread, and must not throw. Windows are in
 * segments or bytes, times in microseconds of the session's clock. The session reads the window
 * whenever it may send, and {@link #pacingBytesPerSecond} after {@link #onAck} and at the end of
 * each flush. For {@link #NONE} it does so only while it has a tracer.
 *
 * <p>A control that measures the path has the session sample its delivery rate: {@link
 * #usesDeliveryRate}.
 */
@SuppressWarnings("ClassInitializationDeadlock") // The factories initialise nothing before a call.
public interface CongestionControl {

  /** Makes the congestion control of one session. */
  @FunctionalInterface
  interface Factory {
    /**
     * Makes a congestion control.
     *
     * @param mssBytes the largest payload of a segment, in bytes
     */
    CongestionControl create(int mssBytes);
  }

  /** No congestion control: only the send window and the peer's window limit what is in flight. */
  Factory NONE = mssBytes -> NoCongestionControl.INSTANCE;

  /** The reference's: slow start, congestion avoidance, half the flight after fast retransmit. */
  Factory RENO = RenoCongestionControl::new;

  /**
   * BBR (draft-ietf-ccwg-bbr, version 3): measures the bandwidth of the path, paces to it, and
   * keeps queues short. {@link BbrState} lists its states.
   */
  Factory BBR = BbrCongestionControl::new;

  /**
   * Returns one of these, for command lines and configuration files.
   *
   * @param name {@code none}, {@code reno} or {@code bbr}
   * @throws IllegalArgumentException if it is another
   */
  static Factory factory(String name) {
    return switch (name) {
      case "none" -> NONE;
      case "reno" -> RENO;
      case "bbr" -> BBR;
      default ->
          throw new IllegalArgumentException(
              "congestion control: " + name + " (expected: none, reno or bbr)");
    };
  }

  /**
   * How many segments may be in flight, from the oldest that is not acknowledged to the newest
   * sent, as in C KCP; at least 1.
   */
  default int window() {
    return Integer.MAX_VALUE;
  }

  /**
   * Whether the session samples the delivery rate for this control, so that {@link AckSample#rate}
   * has it, and {@link #windowBytes} is its window in place of {@link #window}. The session then
   * keeps 16 bytes more of each segment in flight. Always the same for one object.
   */
  default boolean usesDeliveryRate() {
    return false;
  }

  /**
   * How many bytes of segments, headers included, may be sent and not acknowledged, as in QUIC or
   * in TCP with SACK. At least one segment may always be.
   */
  default long windowBytes() {
    return Long.MAX_VALUE;
  }

  /**
   * The rate at which datagrams may leave, in bytes per second, all headers but those of UDP and IP
   * included, or 0 for no limit. Where the session has a rate limit, the smaller of the two
   * applies.
   */
  default long pacingBytesPerSecond() {
    return 0;
  }

  /** A datagram has acknowledged segments. Called at most once for each datagram. */
  void onAck(AckSample sample);

  /** A flush has retransmitted lost segments. Called at most once for each flush, at its end. */
  void onLoss(LossSample sample);

  /**
   * Whether a queue stands on the path. Adaptive FEC sends no parity then: that would make the
   * queue longer.
   */
  default boolean isQueueStanding() {
    return false;
  }

  /**
   * The peer has said that it takes more, and has not been asked. It may have received segments
   * that have timed out since, and dropped them because it had no memory for them. Or it has
   * answered a probe of an outage, and acknowledged nothing yet. Delivery rates of what is in
   * flight count as limited by the application.
   */
  default void onWindowUpdate() {}

  /** The largest payload of a segment has changed to {@code mssBytes}. */
  void onMssChanged(int mssBytes);

  // For statistics:

  /** The bandwidth of the path as far as it is known, in bytes of segments per second, or 0. */
  default long bandwidthBytesPerSecond() {
    return 0;
  }

  /** How long datagrams wait in the queue of the path, in microseconds, or 0 if not known. */
  default int queueUs() {
    return 0;
  }

  /** What the control does, one of a few words such as {@code CRUISE}; empty if it has no name. */
  default String state() {
    return "";
  }
}
