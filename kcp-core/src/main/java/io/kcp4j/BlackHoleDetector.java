package io.kcp4j;

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
final class BlackHoleDetector {

  /** The size that every path takes: BASE_PLPMTU of RFC 8899 §5.1.2. */
  static final int BASE_MTU_BYTES = KcpConfig.DEFAULT_MTU_BYTES;

  /** RFC 8899 leaves the number open; its MAX_PROBES is three, too. */
  static final int LOSSES = 3;

  private static final int SUSPECTS = 3;

  /** How many segments are looked at in a row: a search is short in every window. */
  private static final int MAX_SEARCHED = 256;

  /** Which of the segments sent after a lost one have arrived. */
  private enum Arrived {
    NOTHING,
    SMALLER,
    LARGE
  }

  private final Kcp kcp;

  /** The most that the path takes, as far as is known. Set by {@link Kcp}. */
  int mtuLimitBytes = KcpConfig.MAX_MTU_BYTES;

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

  BlackHoleDetector(Kcp kcp) {
    this.kcp = kcp;
  }

  /**
   * The segment in flight at {@code index} was lost, three times or more, and is sent again now.
   *
   * @return whether more lost segments of this flush may tell something: after a probe they need
   *     not
   */
  boolean lost(int index) {
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
      suspects[suspectCount++] = kcp.sending.sn(index);
    } else {
      isProbeWanted = true;
    }
  }

  /** The size of a lost segment's packets; the MTU if other segments were in the same packets. */
  private int largestBytes(int index) {
    int bytes = kcp.packetBytes(index);
    boolean isInLarge = bytes <= BASE_MTU_BYTES && kcp.losses.ring.isInLargeDatagrams(index);
    return isInLarge ? kcp.maxPacketBytes() : bytes;
  }

  /** What has arrived of what left with the last transmission of the segment or later. */
  private Arrived arrivedBehind(int index, int bytes) {
    int behind = kcp.sending.sn(index) + 1;
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
    int lastTs = kcp.losses.lastTs(index);
    int from = sn;
    int to = kcp.sending.next();
    while (to - from > 0) {
      int middle = from + (to - from) / 2;
      if (kcp.losses.firstTs(kcp.sending.index(middle)) - lastTs < 0) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  private Arrived arrivedFrom(int firstSn, int index, int bytes) {
    SendBuffer sending = kcp.sending;
    long sinceUs = kcp.losses.sentAtUs(index);
    Arrived arrived = Arrived.NOTHING;
    int sn = firstSn;
    for (int left = Math.min(sending.next() - sn, MAX_SEARCHED); left > 0; left--, sn++) {
      int behind = sending.index(sn);
      if (!sending.isAwaited(sn) && kcp.losses.sentAtUs(behind) >= sinceUs) {
        int arrivedBytes = kcp.packetBytes(behind);
        if (arrivedBytes >= bytes) {
          return Arrived.LARGE;
        }
        if (arrivedBytes <= BASE_MTU_BYTES && !kcp.losses.ring.isInLargeDatagrams(behind)) {
          arrived = Arrived.SMALLER;
        }
      }
    }
    return arrived;
  }

  private boolean hasSuspectArrived() {
    for (int i = 0; i < suspectCount; i++) {
      if (!kcp.sending.isAwaited(suspects[i])) {
        return true;
      }
    }
    return false;
  }

  private boolean isSuspect(int index) {
    int sn = kcp.sending.sn(index);
    for (int i = 0; i < suspectCount; i++) {
      if (suspects[i] == sn) {
        return true;
      }
    }
    return false;
  }

  /** Whether a probe was answered that left with the last transmission of the segment or later. */
  private boolean isProbeAnswered(int index) {
    return hasAnswer && answeredTs - kcp.losses.lastTs(index) >= 0;
  }

  /** Writes a window probe in a datagram of its own if one is wanted, at most one in a timeout. */
  void probe(int ts, long nowUs) {
    boolean isDue = !isProbing || nowUs - probedAtUs >= kcp.losses.timeoutUs();
    if (isProbeWanted && isDue) {
      kcp.writer.endDatagram();
      kcp.writer.control(Segment.WASK, ts, 0);
      kcp.writer.endDatagram();
      kcp.counters.add(KcpCounter.PROBES_OUT, 1);
      isProbing = true;
      probedAtUs = nowUs;
      probeTs = ts;
    }
    isProbeWanted = false;
  }

  /**
   * The peer has advertised its window in a segment of its own, as it answers probes. One that
   * comes too soon was under way before the probe. The shortest round trip contains the delay of an
   * ACK, which the answer does not have.
   */
  void windowReceived(long nowUs) {
    if (isProbing && nowUs - probedAtUs >= kcp.rtt.minRttUs() / 2) {
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
  boolean isDetected() {
    return suspectCount == SUSPECTS;
  }

  /**
   * The session fails by the large segment in flight at {@code index}. Returns whether its size is
   * the reason.
   */
  boolean failed(int index) {
    failedPacketBytes = kcp.packetBytes(index);
    return isTooLarge(index);
  }

  private boolean isTooLarge(int index) {
    return isSuspect(index) || (isDetected() && kcp.losses.transmissions(index) > LOSSES);
  }

  /** See {@link Kcp#lossDetail}. */
  String lossDetail() {
    if (failedPacketBytes > 0) {
      return lossDetail(failedPacketBytes, kcp.failure() == KcpFailure.PATH_MTU);
    }
    if (kcp.losses.unacknowledged() == 0) {
      return "";
    }
    int oldest = kcp.sending.index(kcp.sending.una());
    boolean isLostOften = kcp.losses.transmissions(oldest) > LOSSES;
    int bytes = kcp.packetBytes(oldest);
    return isLostOften && bytes > BASE_MTU_BYTES ? lossDetail(bytes, isTooLarge(oldest)) : "";
  }

  private String lossDetail(int bytes, boolean isTooLarge) {
    return "datagrams of %d bytes do not arrive, %s (MTU %d)"
        .formatted(
            bytes,
            isTooLarge ? "but smaller ones do" : "smaller ones may",
            kcp.config().mtuBytes());
  }
}
