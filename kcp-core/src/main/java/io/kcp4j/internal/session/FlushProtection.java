package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.DatagramCopies;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.fec.ParityPolicy;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * Aligns the groups of one session with its flushes: decides of each flush into how many datagrams
 * it is split and how they are protected, and ends a group that a burst has left incomplete;
 * protocol.md 11.13 to 11.17.
 *
 * <p>A flush asks once, before its first datagram. Flushes that do not ask have nothing new to
 * send, or more than is protected.
 */
final class FlushProtection {

  /** The protection of those datagrams of a flush that contain new segments. */
  private enum Plan {
    NONE,
    /** Each leaves again, once or several times. */
    COPIES,
    /** In groups with parity. */
    GROUPS
  }

  private static final int MIN_BURST_GAP_US = 2_000;

  /** Longer gaps would join the ticks of a game. */
  private static final int MAX_BURST_GAP_US = 5_000;

  private final FecConfig config;
  private final FecEncoder encoder;
  private final KcpCounters counters;
  private final ParityPolicy policy;
  private final BurstSplitter bursts;
  private final DatagramCopies copies;

  private Plan plan = Plan.NONE;

  /** The parity of the current group, or the copies of each datagram of the flush. */
  private int parity;

  /** The first new segment of the flush; those before it are retransmissions. */
  private int firstSn;

  // The retransmissions that the policy knows, and how many of them were not needed.

  private long retransmitted;
  private long spurious;

  /** 0 until the peer has answered. */
  private int srttUs;

  private boolean isQueueStanding;

  /** A burst has ended after this time without a flush. */
  private int burstGapUs = MIN_BURST_GAP_US;

  /** The time at which to fill the group that the last flush has left incomplete. */
  private long fillAtUs;

  // The last datagram's conv, wnd and una, for fillers.

  private int conv;
  private int wnd;
  private int una;

  FlushProtection(FecConfig config, FecContext context, FecEncoder encoder, KcpCounters counters) {
    this.config = config;
    this.encoder = encoder;
    this.counters = counters;
    policy = new ParityPolicy(config);
    bursts = new BurstSplitter(config.dataShards());
    copies = new DatagramCopies(context, 1_000L * config.delayedCopyMs());
    retransmitted = counters.get(KcpCounter.RETRANSMITTED);
    spurious = counters.get(KcpCounter.SPURIOUSLY_RETRANSMITTED);
  }

  /**
   * Datagrams are written from now on, and none of them is protected before {@link #plan}.
   *
   * @param srttUs the smoothed round-trip time
   * @param rttVarUs its variation, which spreads the parts of a burst
   * @param isQueueStanding whether a queue stands on the path: parity would add to it
   */
  void begin(int srttUs, int rttVarUs, boolean isQueueStanding) {
    plan = Plan.NONE;
    this.isQueueStanding = isQueueStanding;
    this.srttUs = srttUs;
    burstGapUs = Math.min(Math.max(2 * rttVarUs, MIN_BURST_GAP_US), MAX_BURST_GAP_US);
  }

  /** See {@link io.kcp4j.internal.wire.DatagramOutput#splitFlush}. */
  int plan(int sn, int bytes, int datagramBytes, int maxDatagrams, long nowUs) {
    reportLosses(nowUs);
    bursts.onFlush(bytes, burstGapUs, nowUs);
    firstSn = sn;
    if (isUnanswered()) {
      parity = 1;
      return copies(bytes, datagramBytes);
    }
    int placesTaken = encoder.openShards();
    if (placesTaken == 0) {
      parity = isQueueStanding && config.isAdaptive() ? 0 : policy.parity(nowUs);
      if (parity == 0) {
        return 0;
      }
      if (isCopied(datagramBytes)) {
        return copies(bytes, datagramBytes);
      }
    }
    plan = Plan.GROUPS;
    int placesLeft = config.dataShards() - placesTaken;
    return Math.min(bursts.datagrams(bytes, datagramBytes, placesLeft), maxDatagrams);
  }

  /**
   * Whether the peer may not know the session yet. Until its first datagram has arrived, the peer
   * drops all others and recovers nothing, so that a group would be lost.
   */
  private boolean isUnanswered() {
    return srttUs == 0;
  }

  private int copies(int bytes, int datagramBytes) {
    plan = Plan.COPIES;
    return (bytes + datagramBytes - 1) / datagramBytes;
  }

  private boolean isCopied(int datagramBytes) {
    return config.delayedCopyMs() > 0
        || (!policy.isTraining() && bursts.isCheaperCopied(parity, datagramBytes));
  }

  private void reportLosses(long nowUs) {
    long lost = counters.get(KcpCounter.RETRANSMITTED) - retransmitted;
    long notLost = counters.get(KcpCounter.SPURIOUSLY_RETRANSMITTED) - spurious;
    if (lost > 0) {
      retransmitted += lost;
      policy.onLost(lost, nowUs);
    }
    if (notLost > 0) {
      spurious += notLost;
      policy.onSpurious(notLost);
    }
  }

  /** Whether datagrams of the current flush may join a group. */
  boolean isGrouping() {
    return plan == Plan.GROUPS;
  }

  /** Whether copies of datagrams of the current flush are to be kept. */
  boolean isCopying() {
    return plan == Plan.COPIES;
  }

  /** Whether the segment, which is the first with payload of its datagram, is a new one. */
  boolean isNew(ByteBuf datagram, int index) {
    return Segment.sn(datagram, index) - firstSn >= 0;
  }

  /** See {@link FecLayer#protect}. */
  int protect(ByteBuf packet, int index, long nowUs) {
    if (!isGroupOpen()) {
      parity = policy.parity(nowUs);
    }
    int payload = index + FecPacket.DATA_HEADER_BYTES;
    conv = Segment.conv(packet, payload);
    wnd = Segment.wnd(packet, payload);
    una = Segment.una(packet, payload);
    int sent = encoder.protect(packet, index, packet.writerIndex(), parity, nowUs);
    if (!isGroupOpen()) {
      policy.onGroup(srttUs, nowUs);
    }
    return sent;
  }

  /** Keeps a copy of the segments from {@code index} on. */
  void keepCopy(ByteBuf datagram, int index, long nowUs) {
    copies.add(datagram, index, datagram.writerIndex(), parity, nowUs);
  }

  DatagramCopies copies() {
    return copies;
  }

  /** The current flush has ended. */
  void endFlush(long nowUs) {
    if (plan == Plan.COPIES && !isUnanswered()) {
      policy.onGroup(srttUs, nowUs);
    } else if (plan == Plan.GROUPS) {
      fillAtUs = nowUs + burstGapUs;
    }
    plan = Plan.NONE;
  }

  /** Whether a group has been begun and is not complete. */
  boolean isGroupOpen() {
    return encoder.openShards() > 0;
  }

  /** Whether the current group has to be filled now. */
  boolean isGroupDue(long nowUs) {
    return isGroupOpen() && nowUs >= fillAtUs;
  }

  /** Writes a segment that carries nothing. */
  void writeFiller(ByteBuf out) {
    Segment.write(out, conv, Segment.WINS, 0, wnd, 0, 0, una, 0);
  }

  /** The time of the next filler or copy, in microseconds, or {@link DatagramCopies#NONE}. */
  long deadlineUs() {
    long copyAtUs = copies.nextAtUs();
    return isGroupOpen() ? Math.min(fillAtUs, copyAtUs) : copyAtUs;
  }

  /**
   * Into how many datagrams to split each flush, so that groups end with bursts; protocol.md 11.14
   * and 11.15.
   *
   * <p>A burst is what the application writes at one time, such as a game's tick. In most cases it
   * is one flush, which is split into a group of equal datagrams, or into several groups. But the
   * peer of such a sender receives the datagrams a moment after each other, and a server that
   * answers each of them flushes its burst in parts. To split every part into a whole group would
   * take several times the bytes. So the size of bursts is estimated, and each flush is split into
   * datagrams of the size that the whole burst suggests.
   */
  static final class BurstSplitter {

    /** Weight 1/8 for the newest burst: some ten bursts of a new size suffice to learn it. */
    private static final int GAIN = 8;

    /** The longest burst, in gaps: some applications flush all the time. */
    private static final int MAX_GAPS = 4;

    /** The headers of IPv4 and UDP. */
    private static final int PACKET_BYTES = 28;

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
    BurstSplitter(int dataShards) {
      this.dataShards = dataShards;
    }

    /**
     * Records a flush, which begins a burst or continues one.
     *
     * @param bytes of its new segments
     * @param gapUs the time without a flush that ends a burst, in microseconds
     * @param nowUs the time, in microseconds
     */
    void onFlush(int bytes, long gapUs, long nowUs) {
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
     * @param mostBytes payload that fits into a datagram
     */
    boolean isCheaperCopied(int parity, int mostBytes) {
      int bytes = Math.max(burstBytes, expectedBytes);
      int headerBytes = PACKET_BYTES + Segment.HEADER_BYTES;
      int shardBytes = headerBytes + FecPacket.DATA_HEADER_BYTES + ceilDiv(bytes, dataShards);
      return bytes <= mostBytes
          && (1 + parity) * (headerBytes + bytes) <= (dataShards + parity) * shardBytes;
    }

    /**
     * The number of datagrams into which to split the flush that was recorded last.
     *
     * @param bytes of its new segments
     * @param mostBytes payload that fits into a datagram
     * @param placesLeft datagrams that the current group lacks
     */
    int datagrams(int bytes, int mostBytes, int placesLeft) {
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
}
