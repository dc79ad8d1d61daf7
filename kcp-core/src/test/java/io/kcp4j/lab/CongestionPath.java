package io.kcp4j.lab;

/**
 * The path that all flows of a congestion run share. Loss, jitter and blackouts concern both
 * directions, the rate and the queue, too, though only one direction fills them.
 *
 * @param rates the rate, which headers of UDP and IPv4 count against
 * @param rttUs the round-trip time without jitter and queue
 * @param jitterUs the largest additional delay of a datagram, each way
 * @param bufferBdp the size of the queue in bandwidth-delay products of the first rate
 * @param loss the share of datagrams that are lost behind the queue
 * @param blackoutFromUs when everything begins to be lost
 * @param blackoutToUs when that ends
 */
record CongestionPath(
    RateSchedule rates,
    int rttUs,
    int jitterUs,
    double bufferBdp,
    double loss,
    long blackoutFromUs,
    long blackoutToUs) {

  private static final double US_PER_S = 1e6;

  /** A path of constant rate without blackout. */
  static CongestionPath of(
      long bitsPerSecond, int rttUs, int jitterUs, double bufferBdp, double loss) {
    RateSchedule rates = RateSchedule.constant(bitsPerSecond);
    return new CongestionPath(rates, rttUs, jitterUs, bufferBdp, loss, 0, 0);
  }

  CongestionPath withRates(RateSchedule rates) {
    return new CongestionPath(
        rates, rttUs, jitterUs, bufferBdp, loss, blackoutFromUs, blackoutToUs);
  }

  CongestionPath withBlackout(long fromUs, long toUs) {
    return new CongestionPath(rates, rttUs, jitterUs, bufferBdp, loss, fromUs, toUs);
  }

  /** The first rate, in bits per second. */
  double bitsPerSecond() {
    return rates.bitsPerSecond(0);
  }

  /** The size of the queue. */
  int queueBytes() {
    double bytes = bitsPerSecond() / Byte.SIZE * rttUs / US_PER_S * bufferBdp;
    return Math.max((int) bytes, 2 * CubicTcp.SEGMENT_BYTES);
  }

  /** What each link of a flow has of its own. */
  LinkSettings link() {
    return LinkSettings.delay(rttUs / 2).withJitter(jitterUs).withLoss(loss, 0);
  }

  /** The losses of a direction. */
  LossModel withBlackout(LossModel model) {
    return blackoutFromUs == blackoutToUs
        ? model
        : LossModel.blackout(model, blackoutFromUs, blackoutToUs);
  }
}
