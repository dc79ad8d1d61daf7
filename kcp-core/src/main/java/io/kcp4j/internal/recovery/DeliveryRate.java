package io.kcp4j.internal.recovery;

import io.kcp4j.AckSample;
import io.kcp4j.internal.buffer.SendRing;

/**
 * Delivery rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples"): the rate at which the path
 * delivered the segments of the last round trip. A session whose congestion control uses them has
 * one; its {@link LossDetector} reports what is sent and acknowledged.
 *
 * <p>The {@link SendRing} keeps, for the last transmission of each segment in flight, how much had
 * been delivered when it left. When the segment is acknowledged, the bytes delivered since then,
 * divided by the time that took, are a sample. The time is the longer of two: in which the segments
 * were acknowledged, and in which they were sent; so neither a burst nor acknowledgements that
 * arrive together make a sample too high. KCP's ACKs echo the timestamp of the transmission that
 * has arrived, so retransmissions give samples, too.
 *
 * <p>Bytes are those of segments with their headers. {@link #wireRatio} is by how much more leaves:
 * headers of the layers below, acknowledgements beside payload, copies and parity.
 */
public final class DeliveryRate implements AckSample.Rate {

  private static final double US_PER_S = 1e6;

  /**
   * What is longer ago counts as that long ago, since the ring keeps only the low bits of times.
   */
  private static final long MAX_AGE_US = 1 << 30;

  /** How much of each round the ratio takes over. */
  private static final double RATIO_GAIN = 0.25;

  /**
   * It takes over all of a round with this many times the bytes of the last: headers weigh less.
   */
  private static final int RATIO_GROWTH = 4;

  /** The size of a full segment, by which {@link #window} counts. */
  private int segmentBytes;

  private long deliveredBytes;
  private long deliveredAtUs;
  private long lostBytes;
  private int inFlightBytes;
  private int inFlightSegments;

  /** When the transmission was sent that has been acknowledged last. */
  private long firstSentAtUs;

  /** The application is the limit until more than this has been delivered. */
  private long limitedUntil = -1;

  /** Whether the application was the limit before anything was delivered. */
  private boolean isFirstFlightLimited;

  /** A round ends when a transmission is acknowledged that left after this had been delivered. */
  private long roundEndsAt;

  // The newest transmission that the present datagram acknowledges:
  private boolean isAcknowledged;
  private long newestSentAtUs;
  private long newestFirstSentAtUs;
  private long newestDelivered;
  private long newestDeliveredAtUs;
  private int newestInFlightBytes;
  private boolean newestIsLimited;

  // The sample:
  private double bytesPerSecond;
  private long intervalUs;
  private boolean isRoundStart;
  private int acknowledgedBytes;
  private int acknowledgedBytesOfDatagram;

  // The ratio of the bytes that leave to the bytes of segments:
  private long sentSegmentBytes;
  private long roundSegmentBytes;
  private long roundSentBytes;
  private double wireRatio = 1;
  private long ratioSegmentBytes;

  public DeliveryRate(int segmentBytes) {
    this.segmentBytes = segmentBytes;
  }

  /** Sets the size of a full segment, header included. */
  public void segmentBytes(int bytes) {
    segmentBytes = bytes;
  }

  /**
   * How many segments may be sent and not acknowledged with a window of {@code windowBytes}: those
   * in flight, and as many full ones as there is room for; at least 1.
   */
  public int window(long windowBytes) {
    long roomBytes = Math.max(windowBytes - inFlightBytes, 0);
    long segments = inFlightSegments + roomBytes / segmentBytes;
    return (int) Math.max(1, Math.min(segments, Integer.MAX_VALUE));
  }

  // Transmissions

  /** The segments at the indices {@code from} up to, but not including, {@code to} are sent. */
  public void sent(SendRing ring, int from, int to, long nowUs) {
    int[] deliveries = ring.deliveries();
    for (int i = from; i < to; i++) {
      sent(ring, deliveries, i, nowUs);
    }
  }

  public void sent(SendRing ring, int[] deliveries, int index, long nowUs) {
    int bytes = ring.bytes(index);
    if (inFlightBytes == 0) {
      firstSentAtUs = nowUs;
      deliveredAtUs = nowUs;
    }
    if (!ring.hasDelivery(index)) {
      inFlightBytes += bytes;
      inFlightSegments++;
    }
    sentSegmentBytes += bytes;
    int at = index << SendRing.DELIVERY_SHIFT;
    deliveries[at + SendRing.FIRST_SENT_AT_US] = (int) Math.max(firstSentAtUs, nowUs - MAX_AGE_US);
    deliveries[at + SendRing.DELIVERED_BYTES] = (int) deliveredBytes;
    deliveries[at + SendRing.DELIVERED_AT_US] = (int) Math.max(deliveredAtUs, nowUs - MAX_AGE_US);
    deliveries[at + SendRing.IN_FLIGHT_BYTES] = inFlightBytes;
    ring.delivery(index, deliveredBytes <= limitedUntil);
  }

  /** The segment at {@code index} counts as lost, and has been sent again. */
  public void retransmitted(SendRing ring, int index, long nowUs) {
    if (ring.hasDelivery(index)) {
      lostBytes += ring.bytes(index);
    }
    sent(ring, ring.deliveries(), index, nowUs);
  }

  /** The application has nothing more to send. */
  public void applicationLimited() {
    isFirstFlightLimited |= deliveredBytes == 0;
    limitedUntil = deliveredBytes + inFlightBytes;
  }

  // Acknowledgements

  /**
   * The segment at {@code index} is acknowledged.
   *
   * @param isEarlier whether an earlier transmission than the last has arrived
   */
  public void acknowledged(SendRing ring, int index, boolean isEarlier, long nowUs) {
    if (!ring.hasDelivery(index)) {
      return; // It was sent before rates were measured.
    }
    int bytes = ring.bytes(index);
    deliveredBytes += bytes;
    deliveredAtUs = nowUs;
    inFlightBytes -= bytes;
    inFlightSegments--;
    acknowledgedBytesOfDatagram += bytes;
    if (isEarlier) {
      lostBytes -= bytes;
    } else if (!isAcknowledged || ring.sentAtUs[index] >= newestSentAtUs) {
      takeNewest(ring, index, nowUs);
    }
  }

  private void takeNewest(SendRing ring, int index, long nowUs) {
    int[] deliveries = ring.deliveries();
    int at = index << SendRing.DELIVERY_SHIFT;
    isAcknowledged = true;
    newestSentAtUs = ring.sentAtUs[index];
    newestFirstSentAtUs = near(nowUs, deliveries[at + SendRing.FIRST_SENT_AT_US]);
    newestDelivered = near(deliveredBytes, deliveries[at + SendRing.DELIVERED_BYTES]);
    newestDeliveredAtUs = near(nowUs, deliveries[at + SendRing.DELIVERED_AT_US]);
    newestInFlightBytes = deliveries[at + SendRing.IN_FLIGHT_BYTES];
    newestIsLimited =
        ring.isApplicationLimited(index) || (newestDelivered == 0 && isFirstFlightLimited);
  }

  /** The value whose low bits these are, if it is not far from another. */
  private static long near(long other, int low) {
    return other - ((int) other - low);
  }

  /**
   * Ends a datagram that has acknowledged segments, and computes its sample.
   *
   * @param sentBytes the bytes that have left for the session in all, as the pacer counts them
   */
  public void endDatagram(long sentBytes) {
    acknowledgedBytes = acknowledgedBytesOfDatagram;
    acknowledgedBytesOfDatagram = 0;
    bytesPerSecond = 0;
    intervalUs = 0;
    isRoundStart = false;
    if (!isAcknowledged) {
      return;
    }
    isAcknowledged = false;
    long sendUs = newestSentAtUs - newestFirstSentAtUs;
    intervalUs = Math.max(sendUs, deliveredAtUs - newestDeliveredAtUs);
    firstSentAtUs = Math.max(firstSentAtUs, newestSentAtUs);
    if (intervalUs > 0) {
      bytesPerSecond = (deliveredBytes - newestDelivered) * US_PER_S / intervalUs;
    }
    if (newestDelivered >= roundEndsAt) {
      isRoundStart = true;
      roundEndsAt = deliveredBytes;
      updateRatio(sentBytes);
    }
  }

  private void updateRatio(long sentBytes) {
    long segmentBytes = sentSegmentBytes - roundSegmentBytes;
    long wireBytes = sentBytes - roundSentBytes;
    if (roundSegmentBytes > 0 && segmentBytes > 0) { // What left before the first round is unknown.
      double ratio = Math.max((double) wireBytes / segmentBytes, 1);
      boolean isNew = segmentBytes > RATIO_GROWTH * ratioSegmentBytes;
      wireRatio = isNew ? ratio : wireRatio + RATIO_GAIN * (ratio - wireRatio);
      ratioSegmentBytes = segmentBytes;
    }
    roundSegmentBytes = sentSegmentBytes;
    roundSentBytes = sentBytes;
  }

  // The sample

  @Override
  public double bytesPerSecond() {
    return bytesPerSecond;
  }

  @Override
  public long intervalUs() {
    return intervalUs;
  }

  @Override
  public boolean isApplicationLimited() {
    return newestIsLimited;
  }

  @Override
  public int sentInFlightBytes() {
    return newestInFlightBytes;
  }

  @Override
  public int acknowledgedBytes() {
    return acknowledgedBytes;
  }

  @Override
  public boolean isRoundStart() {
    return isRoundStart;
  }

  // Totals

  @Override
  public long deliveredBytes() {
    return deliveredBytes;
  }

  @Override
  public long lostBytes() {
    return lostBytes;
  }

  @Override
  public int inFlightBytes() {
    return inFlightBytes;
  }

  @Override
  public double wireRatio() {
    return wireRatio;
  }
}
