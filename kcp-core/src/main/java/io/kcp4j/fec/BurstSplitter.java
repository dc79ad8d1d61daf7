package io.kcp4j.fec;

import io.kcp4j.Unstable;

/**
 * Into how many datagrams to split each flush, so that groups end with bursts; protocol.md 11.14
 * and 11.15.
 *
 * <p>A burst is what the application writes at one time, such as a game's tick. In most cases it is
 * one flush, which is split into a group of equal datagrams, or into several groups. But the peer
 * of such a sender receives the datagrams a moment after each other, and a server that answers each
 * of them flushes its burst in parts. To split every part into a whole group would take several
 * times the bytes. So the size of bursts is estimated, and each flush is split into datagrams of
 * the size that the whole burst suggests.
 */
@Unstable
public final class BurstSplitter {

  /** A new size of bursts has been learned after some ten of them. */
  private static final int GAIN = 8;

  /** A burst ends at the latest after so many gaps: some applications flush all the time. */
  private static final int MAX_GAPS = 4;

  /** IPv4 and UDP. */
  private static final int PACKET_BYTES = 28;

  /** A segment of KCP. */
  private static final int SEGMENT_BYTES = 24;

  private final int dataShards;

  /** The mean size of recent bursts; 0 before the end of the first one. */
  private int expectedBytes;

  private int burstBytes;
  private long begunAtUs;
  private long flushedAtUs;

  /**
   * Makes a splitter.
   *
   * @param dataShards the data packets of a group
   */
  public BurstSplitter(int dataShards) {
    this.dataShards = dataShards;
  }

  /**
   * Records a flush, which begins a burst or continues one.
   *
   * @param bytes of its new segments
   * @param gapUs how long without a flush until the burst has ended, in microseconds
   * @param nowUs the time, in microseconds
   */
  public void onFlush(int bytes, long gapUs, long nowUs) {
    if (nowUs - flushedAtUs >= gapUs || nowUs - begunAtUs >= MAX_GAPS * gapUs) {
      endBurst();
      begunAtUs = nowUs;
    }
    flushedAtUs = nowUs;
    burstBytes += bytes;
  }

  private void endBurst() {
    expectedBytes += expectedBytes == 0 ? burstBytes : (burstBytes - expectedBytes) / GAIN;
    burstBytes = 0;
  }

  /**
   * Whether copies of the burst take fewer bytes than a group.
   *
   * @param parity the number of parity packets of the group, and of copies
   * @param mostBytes how much fits into a datagram
   */
  public boolean isCheaperCopied(int parity, int mostBytes) {
    int bytes = Math.max(burstBytes, expectedBytes);
    int shardBytes =
        PACKET_BYTES + FecPacket.DATA_HEADER_BYTES + SEGMENT_BYTES + ceilDiv(bytes, dataShards);
    return bytes <= mostBytes
        && (1 + parity) * (PACKET_BYTES + SEGMENT_BYTES + bytes)
            <= (dataShards + parity) * shardBytes;
  }

  /**
   * Into how many datagrams to split the flush that was recorded last.
   *
   * @param bytes of its new segments
   * @param mostBytes how much of them fits into a datagram
   * @param placesLeft how many datagrams the current group can still take
   */
  public int datagrams(int bytes, int mostBytes, int placesLeft) {
    int least = ceilDiv(bytes, mostBytes);
    int most = wholeGroups(bytes, mostBytes);
    if (expectedBytes == 0) {
      return most;
    }
    int expected = wholeGroups(expectedBytes, mostBytes);
    long split = Math.round((double) bytes * expected / expectedBytes);
    int datagrams = (int) Math.min(Math.max(split, Math.max(least, 1)), most);
    return endGroup(datagrams, least, placesLeft);
  }

  /** A last group of a single datagram is avoided, and one that lacks a single one is filled. */
  private int endGroup(int datagrams, int least, int placesLeft) {
    int rest = Math.max(datagrams - placesLeft, 0) % dataShards;
    if (rest == 1 && datagrams > least) {
      return datagrams - 1;
    }
    return rest > 1 && rest == dataShards - 1 ? datagrams + 1 : datagrams;
  }

  private int wholeGroups(int bytes, int mostBytes) {
    return dataShards * ceilDiv(bytes, dataShards * mostBytes);
  }

  private static int ceilDiv(int bytes, int by) {
    return (bytes + by - 1) / by;
  }
}
