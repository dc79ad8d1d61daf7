package io.kcp4j.fec;

/**
 * The ratio of data to parity that the peer uses, as far as it is known, and whether it is proven:
 * protocol.md 11.9 to 11.11.
 *
 * <p>With a wrong ratio parity is held against data that it does not cover. What comes out looks
 * much like a datagram, since all that the datagrams of a session have in common is reproduced, the
 * conv first of all. So nothing may be recovered by a ratio that is only assumed, or contradicted,
 * or older than a jump in the sequence numbers, where the peer may have begun with another: a
 * {@link RatioSearch} has to prove it first, from the packets themselves. A proven ratio costs
 * nothing.
 *
 * <p>Changes are rare: flapping does no more than stop recovery.
 */
final class PeerRatio {

  /** Each change drops the groups in hand; a peer has no reason to change more often. */
  static final int CHANGE_INTERVAL_MS = 10_000;

  private static final int MAX_SEARCH_PACKETS = 256;

  private final int maxShards;
  private int dataShards;
  private int parityShards;
  private long paws;

  /**
   * The group that was located last, and its first number: the next packet is often of the same.
   */
  private int group;

  private long groupStart;
  private int place;

  /** Null while the ratio is proven. */
  private RatioSearch search = new RatioSearch();

  private int searchPackets = 1;
  private int untilSearch = 1;

  private int changes;
  private long changedAtMs;

  PeerRatio(FecConfig config) {
    maxShards = config.maxDetectedShards();
    if (config.isEncoding()) {
      use(config.dataShards(), config.parityShards());
    }
  }

  private void use(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    paws = FecPacket.paws(dataShards + parityShards);
    group = 0;
    groupStart = 0;
  }

  boolean isKnown() {
    return dataShards > 0;
  }

  /** Whether what is recovered by the ratio is what the peer has sent. */
  boolean isProven() {
    return search == null;
  }

  int dataShards() {
    return dataShards;
  }

  int parityShards() {
    return parityShards;
  }

  int changes() {
    return changes;
  }

  /**
   * Whether a packet stands where such a packet stands by the ratio in force. Then {@link #group}
   * and {@link #place} tell where that is.
   */
  boolean fits(long seqid, boolean isData) {
    int shards = dataShards + parityShards;
    long offset = seqid - groupStart;
    if (offset < 0 || offset >= shards) {
      group = (int) (seqid / shards);
      groupStart = (long) group * shards;
      offset = seqid - groupStart;
    }
    place = (int) offset;
    return seqid < paws && place < dataShards == isData;
  }

  /** The number of the group of the packet that {@link #fits}. */
  int group() {
    return group;
  }

  /** Its place in the group. */
  int place() {
    return place;
  }

  /**
   * Takes note of a packet.
   *
   * @param fits what {@link #fits} says of it; false while no ratio is known
   * @return whether the ratio has changed
   */
  boolean observe(long seqid, boolean isData, boolean fits, long nowMs) {
    if (search == null) {
      if (fits) {
        return false;
      }
      requireProof();
    }
    search.add(seqid, isData);
    untilSearch--;
    if (untilSearch > 0) {
      return false;
    }
    searchPackets = Math.min(searchPackets + 1 + searchPackets / 8, MAX_SEARCH_PACKETS);
    untilSearch = searchPackets;
    return search.find() && accept(search.dataShards(), search.parityShards(), nowMs);
  }

  /** Demands a new proof. */
  void requireProof() {
    search = new RatioSearch();
    searchPackets = 1;
    untilSearch = 1;
  }

  private boolean accept(int dataShards, int parityShards, long nowMs) {
    if (dataShards == this.dataShards && parityShards == this.parityShards) {
      search = null;
      return false;
    }
    boolean isTooSoon = changes > 0 && nowMs - changedAtMs < CHANGE_INTERVAL_MS;
    if (isTooSoon || dataShards + parityShards > maxShards) {
      return false;
    }
    use(dataShards, parityShards);
    changes++;
    changedAtMs = nowMs;
    search = null;
    return true;
  }
}
