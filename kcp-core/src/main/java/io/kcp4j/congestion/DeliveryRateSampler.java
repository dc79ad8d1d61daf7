package io.kcp4j.congestion;

/**
 * Delivery rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples"): at which rate the path has
 * delivered what was sent during the last round trip.
 *
 * <p>Each transmission keeps how much had been delivered when it was sent. When it is acknowledged,
 * what was delivered since then, divided by the time that took, is a sample. The time is the longer
 * of two: in which the segments were acknowledged, and in which they were sent; so neither a burst
 * nor acknowledgements that arrive together make a sample too high. KCP's ACKs echo the timestamp
 * of the transmission that has arrived, so retransmissions give samples, too.
 *
 * <p>Bytes are those of segments with their headers. {@link #wireRatio} is by how much more leaves:
 * headers of the layers below, acknowledgements beside payload, copies and parity.
 */
final class DeliveryRateSampler {

  private static final double US_PER_S = 1e6;

  /** What is longer ago counts as that long ago, since only the low bits of times are kept. */
  private static final long MAX_AGE_US = 1 << 30;

  /** How much of each round the ratio takes over. */
  private static final double RATIO_GAIN = 0.25;

  /** It takes over all of a round with so many times the bytes of the last: headers weigh less. */
  private static final int RATIO_GROWTH = 4;

  private final Transmissions transmissions = new Transmissions();

  private long delivered;
  private long deliveredAtUs;
  private long lost;
  private int inFlightBytes;
  private int inFlightSegments;

  /** When the transmission was sent that has been acknowledged last. */
  private long firstSentAtUs;

  /** The application is the limit until more than this has been delivered. */
  private long limitedUntil = -1;

  /** Whether the application was the limit before anything was delivered. */
  private boolean isFirstFlightLimited;

  /** A round ends when a transmission is acknowledged that was sent after so much was delivered. */
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
  private boolean isRoundStart;
  private int acknowledgedBytes;
  private int acknowledgedBytesOfDatagram;

  // The ratio of what leaves to the bytes of segments:
  private long sentSegmentBytes;
  private long roundSegmentBytes;
  private long roundSentBytes;
  private double wireRatio = 1;
  private long ratioSegmentBytes;

  /** A segment is sent for the first time, or again. */
  void sent(int sn, int bytes, long nowUs) {
    if (inFlightBytes == 0) {
      firstSentAtUs = nowUs;
      deliveredAtUs = nowUs;
    }
    int i = transmissions.claim(sn);
    int[] values = transmissions.values();
    inFlightBytes += bytes - values[i + Transmissions.BYTES];
    inFlightSegments += values[i + Transmissions.BYTES] == 0 ? 1 : 0;
    sentSegmentBytes += bytes;
    values[i + Transmissions.BYTES] = bytes;
    values[i + Transmissions.SENT_AT_US] = (int) nowUs;
    values[i + Transmissions.FIRST_SENT_AT_US] = (int) Math.max(firstSentAtUs, nowUs - MAX_AGE_US);
    values[i + Transmissions.DELIVERED] = (int) delivered;
    values[i + Transmissions.DELIVERED_AT_US] = (int) Math.max(deliveredAtUs, nowUs - MAX_AGE_US);
    values[i + Transmissions.IN_FLIGHT_BYTES] = inFlightBytes;
    values[i + Transmissions.IS_LIMITED] = delivered <= limitedUntil ? 1 : 0;
  }

  /** The value whose low bits these are, if it is not far from another. */
  private static long near(long other, int low) {
    return other - ((int) other - low);
  }

  /** A segment is acknowledged. */
  void acknowledged(int sn, DeliveredTransmission which, long nowUs) {
    int i = transmissions.find(sn);
    if (i < 0) {
      return; // It was sent before this sampler was made.
    }
    int[] values = transmissions.values();
    int bytes = values[i + Transmissions.BYTES];
    long sentAtUs = near(nowUs, values[i + Transmissions.SENT_AT_US]);
    delivered += bytes;
    deliveredAtUs = nowUs;
    inFlightBytes -= bytes;
    inFlightSegments--;
    acknowledgedBytesOfDatagram += bytes;
    if (which == DeliveredTransmission.EARLIER) {
      lost -= bytes;
    } else if (!isAcknowledged || sentAtUs >= newestSentAtUs) {
      isAcknowledged = true;
      newestSentAtUs = sentAtUs;
      newestFirstSentAtUs = near(nowUs, values[i + Transmissions.FIRST_SENT_AT_US]);
      newestDelivered = near(delivered, values[i + Transmissions.DELIVERED]);
      newestDeliveredAtUs = near(nowUs, values[i + Transmissions.DELIVERED_AT_US]);
      newestInFlightBytes = values[i + Transmissions.IN_FLIGHT_BYTES];
      newestIsLimited =
          values[i + Transmissions.IS_LIMITED] != 0
              || (newestDelivered == 0 && isFirstFlightLimited);
    }
    values[i + Transmissions.BYTES] = 0;
  }

  /** A segment in flight counts as lost, and is sent again next. */
  void lost(int sn) {
    int i = transmissions.find(sn);
    if (i >= 0) {
      lost += transmissions.values()[i + Transmissions.BYTES];
    }
  }

  /** The application has nothing more to send. */
  void applicationLimited() {
    isFirstFlightLimited |= delivered == 0;
    limitedUntil = delivered + inFlightBytes;
  }

  /**
   * Ends a datagram that has acknowledged segments, and computes its sample.
   *
   * @param minIntervalUs samples of less time are not valid, in microseconds
   * @param sentBytes what has left in all, as {@link AckSample#sentBytes}
   */
  void endAck(long minIntervalUs, long sentBytes) {
    acknowledgedBytes = acknowledgedBytesOfDatagram;
    acknowledgedBytesOfDatagram = 0;
    bytesPerSecond = 0;
    isRoundStart = false;
    if (inFlightBytes == 0) {
      transmissions.shrink();
    }
    if (!isAcknowledged) {
      return;
    }
    isAcknowledged = false;
    long sendUs = newestSentAtUs - newestFirstSentAtUs;
    long intervalUs = Math.max(sendUs, deliveredAtUs - newestDeliveredAtUs);
    firstSentAtUs = Math.max(firstSentAtUs, newestSentAtUs);
    if (intervalUs > 0 && intervalUs >= minIntervalUs) {
      bytesPerSecond = (delivered - newestDelivered) * US_PER_S / intervalUs;
    }
    if (newestDelivered >= roundEndsAt) {
      isRoundStart = true;
      roundEndsAt = delivered;
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

  /** The rate of the sample, in bytes of segments per second, or 0 if it has none. */
  double bytesPerSecond() {
    return bytesPerSecond;
  }

  /** Whether the application was the limit when the transmission was sent. */
  boolean isApplicationLimited() {
    return newestIsLimited;
  }

  /** The bytes in flight when the transmission had been sent, itself included. */
  int sentInFlightBytes() {
    return newestInFlightBytes;
  }

  /** The bytes that the datagram has acknowledged. */
  int acknowledgedBytes() {
    return acknowledgedBytes;
  }

  /** Whether a round trip has passed since this was last true. */
  boolean isRoundStart() {
    return isRoundStart;
  }

  // Totals

  /** The bytes that have been delivered. */
  long delivered() {
    return delivered;
  }

  /** The bytes that were found lost, less those of which that turned out to be wrong. */
  long lost() {
    return lost;
  }

  /** The bytes that are not acknowledged. */
  int inFlightBytes() {
    return inFlightBytes;
  }

  /** The segments that are not acknowledged. */
  int inFlightSegments() {
    return inFlightSegments;
  }

  /** The bytes that leave for each byte of a segment, at least 1. */
  double wireRatio() {
    return wireRatio;
  }
}
