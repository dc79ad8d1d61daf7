package io.kcp4j.internal.send;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;

/**
 * The sizes of a session's packets, in bytes: the MTU, and the parts of it that the layers below
 * and an offer of the extension take.
 */
public final class PacketSize {

  // Sizes of less than 64 KiB.

  private char configuredMtuBytes;

  /** The most that the path takes, as far as is known. */
  private char pathMtuBytes = KcpConfig.MAX_MTU_BYTES;

  private char overheadBytes;
  private char reservedBytes;

  /** Takes over sizes that fit. */
  public void set(int configuredMtuBytes, int pathMtuBytes, int overheadBytes, int reservedBytes) {
    this.configuredMtuBytes = (char) configuredMtuBytes;
    this.pathMtuBytes = (char) pathMtuBytes;
    this.overheadBytes = (char) overheadBytes;
    this.reservedBytes = (char) reservedBytes;
  }

  /** The most that the path takes; the largest MTU unless a black hole was found. */
  public int pathMtuBytes() {
    return pathMtuBytes;
  }

  /** The bytes that the layers below add to each datagram. */
  public int overheadBytes() {
    return overheadBytes;
  }

  /** The bytes that datagrams leave free for the offer of the extension. */
  public int reservedBytes() {
    return reservedBytes;
  }

  /** The largest packet that is sent, with the headers of all layers. */
  public int maxPacketBytes() {
    return Math.min(configuredMtuBytes, pathMtuBytes);
  }

  /** The largest datagram that is written, without what is reserved. */
  public int mtuBytes() {
    return maxPacketBytes() - overheadBytes - reservedBytes;
  }

  /** The largest payload of a segment. */
  public int mssBytes() {
    return mtuBytes() - Segment.HEADER_BYTES;
  }

  /**
   * The largest datagram that every path takes, without what the layers below add; MAX_VALUE if no
   * larger ones are sent.
   */
  public int smallDatagramBytes() {
    return hasLargePackets() ? BlackHoleDetector.BASE_MTU_BYTES - overheadBytes : Integer.MAX_VALUE;
  }

  /** Whether there are packets of more than the size that every path takes. */
  public boolean hasLargePackets() {
    return maxPacketBytes() > BlackHoleDetector.BASE_MTU_BYTES;
  }

  /**
   * Checks whether an MTU leaves room for payload.
   *
   * @param overheadBytes what the layers below add to each datagram
   * @throws IllegalArgumentException if it does not
   */
  public static void checkOverhead(int mtuBytes, int overheadBytes) {
    int least = overheadBytes + Segment.HEADER_BYTES + 1;
    if (mtuBytes < least) {
      throw new IllegalArgumentException(
          "mtuBytes: " + mtuBytes + " (expected: >= " + least + " with the headers of all layers)");
    }
  }
}
