package io.kcp4j;

/**
 * The sizes of a session's packets, in bytes: the MTU, and the parts of it that the layers below
 * and an offer of the extension take.
 */
final class PacketSize {

  // Sizes of less than 64 KiB.

  private char configuredMtuBytes;

  /** The most that the path takes, as far as is known. */
  private char pathMtuBytes = KcpConfig.MAX_MTU_BYTES;

  private char overheadBytes;
  private char reservedBytes;

  /** Takes over sizes that fit. */
  void set(int configuredMtuBytes, int pathMtuBytes, int overheadBytes, int reservedBytes) {
    this.configuredMtuBytes = (char) configuredMtuBytes;
    this.pathMtuBytes = (char) pathMtuBytes;
    this.overheadBytes = (char) overheadBytes;
    this.reservedBytes = (char) reservedBytes;
  }

  /** The most that the path takes; the largest MTU unless a black hole was found. */
  int pathMtuBytes() {
    return pathMtuBytes;
  }

  /** The bytes that the layers below add to each datagram. */
  int overheadBytes() {
    return overheadBytes;
  }

  /** The bytes that datagrams leave free for the offer of the extension. */
  int reservedBytes() {
    return reservedBytes;
  }

  /** The largest packet that is sent, with the headers of all layers. */
  int maxPacketBytes() {
    return Math.min(configuredMtuBytes, pathMtuBytes);
  }

  /** The largest datagram that is written, without what is reserved. */
  int mtuBytes() {
    return maxPacketBytes() - overheadBytes - reservedBytes;
  }

  /** The largest payload of a segment. */
  int mssBytes() {
    return mtuBytes() - Segment.HEADER_BYTES;
  }

  /**
   * The largest datagram that every path takes, without what the layers below add; MAX_VALUE if no
   * larger ones are sent.
   */
  int smallDatagramBytes() {
    return hasLargePackets() ? BlackHoleDetector.BASE_MTU_BYTES - overheadBytes : Integer.MAX_VALUE;
  }

  /** Whether there are packets of more than the size that every path takes. */
  boolean hasLargePackets() {
    return maxPacketBytes() > BlackHoleDetector.BASE_MTU_BYTES;
  }
}
