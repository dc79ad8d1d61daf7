package io.kcp4j.internal.send;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.wire.Segment;

/**
 * Detects that the path drops large datagrams and does not say so: a black hole (RFC 8899 §4.3). A
 * segment is a suspect when it was lost three times in datagrams of more than {@link
 * KcpConfig#DEFAULT_MTU_BYTES}, which every path takes, and something smaller arrived that left
 * with its last transmission or later. With three suspects, the MTU of the session becomes that
 * size: protocol.md 4.13.
 *
 * <p>KCP's ACKs tell which segments behind a lost one have arrived: their fields stay in the ring
 * until {@code una} passes the lost one. If a segment of the same size is among them, the path
 * takes that size, and the losses have another reason. If none of them tells anything, as in bulk
 * data of full segments, a window probe is sent, which every peer answers.
 *
 * <p>A session makes its detector when a large segment has been lost three times.
 */
public final class BlackHoleDetector {

  /** The size that every path takes: BASE_PLPMTU of RFC 8899 §5.1.2. */
  public static final int BASE_MTU_BYTES = KcpConfig.DEFAULT_MTU_BYTES;

  /** RFC 8899 leaves the number open; its MAX_PROBES is three, too. */
  public static final int LOSSES = 3;

  private static final int SUSPECTS = 3;

  /** How many segments are looked at in a row: a search is short in every window. */
  private static final int MAX_SEARCHED = 256;

  /** Which of the segments sent after a lost one have arrived. */
  private enum Arrived {
    NOTHING,
    SMALLER,
    LARGE
  }

  private final Sender sender;

  /** The sequence numbers of the suspects. */
  private final int[] suspects = new int[SUSPECTS];

  private int suspectCount;

  /** Whether a segment was lost for a reason that is not known yet. */
  private boolean isProbeWanted;

  private boolean isProbing;
  private long probedAtUs;
  private int probeTs;

  /** The timestamp of the latest probe that was answered. */
  private int answeredTs;

  private boolean hasAnswer;

  /** The size of the datagrams by which the session has failed, in bytes; 0 if it has not. */
  private int failedPacketBytes;

  BlackHoleDetector(Sender sender) {
    this.sender = sender;
  }

  /**
   * The segment in flight at {@code index} was lost, three times or more, and is sent again now.
   *
   * @return whether more lost segments of this flush may tell something: after a probe they need
   *     not
   */
  public boolean lost(int index) {
    int bytes = largestBytes(index);
    if (!isProbeWanted && bytes > BASE_MTU_BYTES) {
      search(index, bytes);
    }
    return !isProbeWanted;
  }

  private void search(int index, int bytes) {
    Arrived arrived = arrivedBehind(index, bytes);
    if (arrived == Arrived.LARGE || hasSuspectArrived()) {
      suspectCount = 0;
    } else if (isDetected() || isSuspect(index)) {
      return;
    } else if (arrived == Arrived.SMALLER || isProbeAnswered(index)) {
      suspects[suspectCount++] = sender.buffer.sn(index);
    } else {
      isProbeWanted = true;
    }
  }

  /** The size of a lost segment's packets; the MTU if other segments were in the same packets. */
  private int largestBytes(int index) {
    int bytes = sender.packetBytes(index);
    boolean isInLarge = bytes <= BASE_MTU_BYTES && sender.losses.ring.isInLargeDatagrams(index);
    return isInLarge ? sender.size.maxPacketBytes() : bytes;
  }

  /** What has arrived of what left with the last transmission of the segment or later. */
  private Arrived arrivedBehind(int index, int bytes) {
    int behind = sender.buffer.sn(index) + 1;
    Arrived arrived = arrivedFrom(behind, index, bytes);
    if (arrived == Arrived.LARGE) {
      return arrived;
    }
    // In a large window, those that were sent for the first time since are far behind.
    Arrived arrivedNew = arrivedFrom(firstSentSince(behind, index), index, bytes);
    return arrivedNew == Arrived.NOTHING ? arrived : arrivedNew;
  }

  /** The first segment from {@code sn} on that was new when the one at {@code index} left last. */
  private int firstSentSince(int sn, int index) {
    int lastTs = sender.losses.lastTs(index);
    int from = sn;
    int to = sender.buffer.next();
    while (to - from > 0) {
      int middle = from + (to - from) / 2;
      if (sender.losses.firstTs(sender.buffer.index(middle)) - lastTs < 0) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  private Arrived arrivedFrom(int firstSn, int index, int bytes) {
    SendBuffer sending = sender.buffer;
    long sinceUs = sender.losses.sentAtUs(index);
    Arrived arrived = Arrived.NOTHING;
    int sn = firstSn;
    for (int left = Math.min(sending.next() - sn, MAX_SEARCHED); left > 0; left--, sn++) {
      int behind = sending.index(sn);
      if (!sending.isAwaited(sn) && sender.losses.sentAtUs(behind) >= sinceUs) {
        int arrivedBytes = sender.packetBytes(behind);
        if (arrivedBytes >= bytes) {
          return Arrived.LARGE;
        }
        if (arrivedBytes <= BASE_MTU_BYTES && !sender.losses.ring.isInLargeDatagrams(behind)) {
          arrived = Arrived.SMALLER;
        }
      }
    }
    return arrived;
  }

  private boolean hasSuspectArrived() {
    for (int i = 0; i < suspectCount; i++) {
      if (!sender.buffer.isAwaited(suspects[i])) {
        return true;
      }
    }
    return false;
  }

  private boolean isSuspect(int index) {
    int sn = sender.buffer.sn(index);
    for (int i = 0; i < suspectCount; i++) {
      if (suspects[i] == sn) {
        return true;
      }
    }
    return false;
  }

  /** Whether a probe was answered that left with the last transmission of the segment or later. */
  private boolean isProbeAnswered(int index) {
    return hasAnswer && answeredTs - sender.losses.lastTs(index) >= 0;
  }

  /**
   * Whether to write a window probe with the timestamp {@code ts} in a datagram of its own, which
   * counts as done: if one is wanted, and at most one in a timeout.
   */
  public boolean takeProbe(int ts, long nowUs) {
    boolean isDue = !isProbing || nowUs - probedAtUs >= sender.losses.timeoutUs();
    boolean isTaken = isProbeWanted && isDue;
    if (isTaken) {
      sender.counters.add(KcpCounter.PROBES_OUT, 1);
      isProbing = true;
      probedAtUs = nowUs;
      probeTs = ts;
    }
    isProbeWanted = false;
    return isTaken;
  }

  /**
   * The peer has advertised its window in a segment of its own, as it answers probes. One that
   * comes too soon was under way before the probe. The shortest round trip contains the delay of an
   * ACK, which the answer does not have.
   */
  public void windowReceived(long nowUs) {
    if (isProbing && nowUs - probedAtUs >= sender.rtt.minRttUs() / 2) {
      isProbing = false;
      hasAnswer = true;
      answeredTs = probeTs;
    }
  }

  /** Whether a probe is unanswered. */
  boolean isProbing() {
    return isProbing;
  }

  /** Whether there are enough suspects. */
  public boolean isDetected() {
    return suspectCount == SUSPECTS;
  }

  /**
   * The session fails by the large segment in flight at {@code index}. Returns whether its size is
   * the reason.
   */
  boolean failed(int index) {
    failedPacketBytes = sender.packetBytes(index);
    return isTooLarge(index);
  }

  private boolean isTooLarge(int index) {
    return isSuspect(index) || (isDetected() && sender.losses.transmissions(index) > LOSSES);
  }

  /** See {@code Kcp.lossDetail}. */
  public String lossDetail() {
    if (failedPacketBytes > 0) {
      return lossDetail(failedPacketBytes, sender.userTimeout.failure() == EndReason.PATH_MTU);
    }
    if (sender.losses.unacknowledged() == 0) {
      return "";
    }
    int oldest = sender.buffer.index(sender.buffer.una());
    boolean isLostOften = sender.losses.transmissions(oldest) > LOSSES;
    int bytes = sender.packetBytes(oldest);
    return isLostOften && bytes > BASE_MTU_BYTES ? lossDetail(bytes, isTooLarge(oldest)) : "";
  }

  public String lossDetail(int bytes, boolean isTooLarge) {
    return "datagrams of %d bytes do not arrive, %s (MTU %d)"
        .formatted(
            bytes,
            isTooLarge ? "but smaller ones do" : "smaller ones may",
            sender.config.mtuBytes());
  }

  /**
   * Notes which segments have left only in datagrams that may be too large for the path. The own
   * size of most segments tells, which fill their datagrams; this is for smaller ones, which share
   * datagrams. Part of the {@code SegmentWriter}.
   */
  public static final class LargeDatagrams {

    /** The sequence numbers of the segments in the open datagram that are not large themselves. */
    private final int[] sns = new int[KcpConfig.MAX_MTU_BYTES / Segment.HEADER_BYTES];

    private int count;
    private int smallBytes;

    /** Begins a flush, whatever became of the one before; see {@link #smallBytes}. */
    public void begin(int smallBytes) {
      count = 0;
      this.smallBytes = smallBytes;
    }

    /** The largest datagram that every path takes; MAX_VALUE if there are no larger ones. */
    public int smallBytes() {
      return smallBytes;
    }

    /** The open datagram has the segment {@code sn} of this size, header included. */
    public void add(int sn, int bytes) {
      if (smallBytes != Integer.MAX_VALUE && bytes <= smallBytes) {
        sns[count++] = sn;
      }
    }

    /** The datagram has {@code bytes} and leaves. */
    public void end(int bytes, SendBuffer sending, LossDetector losses) {
      for (int i = 0; i < count; i++) {
        int index = sending.index(sns[i]);
        if (bytes <= smallBytes) {
          losses.ring.inLargeDatagrams(index, false);
        } else if (losses.transmissions(index) == 1) {
          losses.ring.inLargeDatagrams(index, true);
        }
      }
      count = 0;
    }
  }
}
