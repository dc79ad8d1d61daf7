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

  /** Arrays of this capacity are kept while nothing is in flight. */
  private static final int MIN_CAPACITY = 32;

  private static final double US_PER_S = 1e6;

  /** How much of each round the ratio takes over. */
  private static final double RATIO_GAIN = 0.25;

  /** What is known of the last transmission of each segment in flight, by sequence number. */
  private static final class Transmissions {

    final int mask;
    final int[] sns;

    /** The size of the segment, or 0 if the entry is free. */
    final int[] bytes;

    final long[] sentAtUs;

    // When the transmission was sent:
    final long[] firstSentAtUs;
    final long[] delivered;
    final long[] deliveredAtUs;
    final int[] inFlightBytes;
    final boolean[] isLimited;

    Transmissions(int capacity) {
      mask = capacity - 1;
      sns = new int[capacity];
      bytes = new int[capacity];
      sentAtUs = new long[capacity];
      firstSentAtUs = new long[capacity];
      delivered = new long[capacity];
      deliveredAtUs = new long[capacity];
      inFlightBytes = new int[capacity];
      isLimited = new boolean[capacity];
    }

    boolean contains(int sn) {
      int i = sn & mask;
      return bytes[i] != 0 && sns[i] == sn;
    }

    /** Those of twice the capacity: entries that differed below the mask still do. */
    Transmissions larger() {
      Transmissions larger = new Transmissions(2 * sns.length);
      for (int i = 0; i < sns.length; i++) {
        if (bytes[i] != 0) {
          int to = sns[i] & larger.mask;
          larger.sns[to] = sns[i];
          larger.bytes[to] = bytes[i];
          larger.sentAtUs[to] = sentAtUs[i];
          larger.firstSentAtUs[to] = firstSentAtUs[i];
          larger.delivered[to] = delivered[i];
          larger.deliveredAtUs[to] = deliveredAtUs[i];
          larger.inFlightBytes[to] = inFlightBytes[i];
          larger.isLimited[to] = isLimited[i];
        }
      }
      return larger;
    }
  }

  private Transmissions transmissions = new Transmissions(MIN_CAPACITY);

  private long delivered;
  private long deliveredAtUs;
  private long lost;
  private int inFlightBytes;
  private int inFlightSegments;

  /** When the transmission was sent that has been acknowledged last. */
  private long firstSentAtUs;

  /** The application is the limit until more than this has been delivered. */
  private long limitedUntil = -1;

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
  private boolean isRatioKnown;

  /** A segment is sent for the first time, or again. */
  void sent(int sn, int bytes, long nowUs) {
    if (inFlightBytes == 0) {
      firstSentAtUs = nowUs;
      deliveredAtUs = nowUs;
    }
    int i = entry(sn);
    inFlightBytes += bytes - transmissions.bytes[i];
    inFlightSegments += transmissions.bytes[i] == 0 ? 1 : 0;
    sentSegmentBytes += bytes;
    transmissions.sns[i] = sn;
    transmissions.bytes[i] = bytes;
    transmissions.sentAtUs[i] = nowUs;
    transmissions.firstSentAtUs[i] = firstSentAtUs;
    transmissions.delivered[i] = delivered;
    transmissions.deliveredAtUs[i] = deliveredAtUs;
    transmissions.inFlightBytes[i] = inFlightBytes;
    transmissions.isLimited[i] = delivered <= limitedUntil;
  }

  /** The entry of a segment, which becomes its own if it has none. */
  private int entry(int sn) {
    while (transmissions.bytes[sn & transmissions.mask] != 0
        && transmissions.sns[sn & transmissions.mask] != sn) {
      transmissions = transmissions.larger();
    }
    return sn & transmissions.mask;
  }

  /**
   * A segment is acknowledged.
   *
   * @param minRttUs no round trip is shorter, in microseconds
   */
  void acknowledged(int sn, DeliveredTransmission which, long minRttUs, long nowUs) {
    if (!transmissions.contains(sn)) {
      return; // It was sent before this sampler was made.
    }
    int i = sn & transmissions.mask;
    int bytes = transmissions.bytes[i];
    delivered += bytes;
    deliveredAtUs = nowUs;
    inFlightBytes -= bytes;
    inFlightSegments--;
    acknowledgedBytesOfDatagram += bytes;
    boolean isSpurious =
        which == DeliveredTransmission.EARLIER
            || (which == DeliveredTransmission.UNKNOWN
                && nowUs - transmissions.sentAtUs[i] < minRttUs);
    if (isSpurious) {
      lost -= bytes;
    } else if (!isAcknowledged || transmissions.sentAtUs[i] >= newestSentAtUs) {
      isAcknowledged = true;
      newestSentAtUs = transmissions.sentAtUs[i];
      newestFirstSentAtUs = transmissions.firstSentAtUs[i];
      newestDelivered = transmissions.delivered[i];
      newestDeliveredAtUs = transmissions.deliveredAtUs[i];
      newestInFlightBytes = transmissions.inFlightBytes[i];
      newestIsLimited = transmissions.isLimited[i];
    }
    transmissions.bytes[i] = 0;
  }

  /** A segment in flight counts as lost, and is sent again next. */
  void lost(int sn) {
    if (transmissions.contains(sn)) {
      lost += transmissions.bytes[sn & transmissions.mask];
    }
  }

  /** The application has nothing more to send. */
  void applicationLimited() {
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
    if (inFlightBytes == 0 && transmissions.sns.length > MIN_CAPACITY) {
      transmissions = new Transmissions(MIN_CAPACITY);
    }
  }

  private void updateRatio(long sentBytes) {
    long segmentBytes = sentSegmentBytes - roundSegmentBytes;
    long wireBytes = sentBytes - roundSentBytes;
    if (roundSegmentBytes > 0 && segmentBytes > 0) { // What left before the first round is unknown.
      double ratio = Math.max((double) wireBytes / segmentBytes, 1);
      wireRatio = isRatioKnown ? wireRatio + RATIO_GAIN * (ratio - wireRatio) : ratio;
      isRatioKnown = true;
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
