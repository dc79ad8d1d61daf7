package io.kcp4j.lab;

/**
 * One direction of a path.
 *
 * @param delayUs how long a datagram travels at least
 * @param jitterUs how much longer it may travel: each datagram draws from 0 to this
 * @param loss the share of datagrams that are lost
 * @param burstUs the mean length of bursts of loss, or 0 for independent losses
 * @param bitsPerSecond the rate limit, or 0 for none; headers of UDP and IPv4 count
 * @param queueBytes how much may wait for the rate limit, the datagram that is leaving included
 */
record LinkSettings(
    int delayUs, int jitterUs, double loss, double burstUs, long bitsPerSecond, int queueBytes) {

  /** A link that only delays. */
  static LinkSettings delay(int delayUs) {
    return new LinkSettings(delayUs, 0, 0, 0, 0, 0);
  }

  LinkSettings withJitter(int jitterUs) {
    return new LinkSettings(delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes);
  }

  LinkSettings withLoss(double loss, double burstUs) {
    return new LinkSettings(delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes);
  }

  LinkSettings withRate(long bitsPerSecond, int queueBytes) {
    return new LinkSettings(delayUs, jitterUs, loss, burstUs, bitsPerSecond, queueBytes);
  }
}
