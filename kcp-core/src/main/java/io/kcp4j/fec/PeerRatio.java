package io.kcp4j.fec;

/**
 * The ratio of data to parity that the peer uses, if known, and whether it is proven; protocol.md
 * 11.9 to 11.11.
 *
 * <p>With a wrong ratio parity is combined with data that it does not cover. The result looks much
 * like a datagram, since it reproduces everything that the datagrams of a session have in common,
 * the conv above all. Therefore nothing is recovered with a ratio that is only assumed, or
 * contradicted, or older than a jump of the sequence numbers, where the peer may have changed it: a
 * {@link RatioSearch} has to prove the ratio from the packets first. A proven ratio costs nothing.
 *
 * <p>Changes are rate-limited: a flapping ratio only stops recovery.
 */
final class PeerRatio {

  /** Each change drops the current groups; a peer has no reason to change more often. */
  static final int CHANGE_INTERVAL_US = 10_000_000;

  private static final int MAX_SEARCH_PACKETS = 256;

  private final int maxShards;
  private int dataShards;
  private int parityShards;
  private long paws;

  /** The group located last, and its first number: the next packet is often in the same group. */
  private int group;

  private long groupStart;
  private int place;

  /** Null while the ratio is proven. */
  private RatioSearch search = new RatioSearch();

  private int searchPackets = 1;
  private int untilSearch = 1;

  private int changes;
  private long changedAtUs;

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

  /** Whether recovery with the ratio yields what the peer has sent. */
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
   * Whether the current ratio allows a packet of this type at this sequence number. {@link #group}
   * and {@link #place} then return its position.
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

  /** The group number of the packet last passed to {@link #fits}. */
  int group() {
    return group;
  }

  /** The place of that packet in its group. */
  int place() {
    return place;
  }

  /**
   * Records a packet.
   *
   * @param fits the result of {@link #fits}; false while no ratio is known
   * @param isFresh whether it cannot be a replay
   * @return whether the ratio has changed
   */
  boolean observe(long seqid, boolean isData, boolean fits, boolean isFresh, long nowUs) {
    if (search == null) {
      if (fits) {
        return false;
      }
      requireProof();
    }
    search.add(seqid, isData, isFresh);
    untilSearch--;
    if (untilSearch > 0) {
      return false;
    }
    searchPackets = Math.min(searchPackets + 1 + searchPackets / 8, MAX_SEARCH_PACKETS);
    untilSearch = searchPackets;
    return search.find() && accept(search.dataShards(), search.parityShards(), nowUs);
  }

  /** Demands a new proof. */
  void requireProof() {
    search = new RatioSearch();
    searchPackets = 1;
    untilSearch = 1;
  }

  private boolean accept(int dataShards, int parityShards, long nowUs) {
    if (dataShards == this.dataShards && parityShards == this.parityShards) {
      search = null;
      return false;
    }
    boolean isTooSoon = changes > 0 && nowUs - changedAtUs < CHANGE_INTERVAL_US;
    if (isTooSoon || dataShards + parityShards > maxShards) {
      return false;
    }
    use(dataShards, parityShards);
    changes++;
    changedAtUs = nowUs;
    search = null;
    return true;
  }
}
