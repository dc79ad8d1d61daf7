package io.kcp4j.fec;

/**
 * The ratio of data to parity that the peer uses, as far as it is known: protocol.md 11.9, 11.10.
 *
 * <p>An honest packet never contradicts the right ratio, so while nothing does, once it is certain,
 * there is nothing to find out and nothing to remember. The first contradiction starts a {@link
 * RatioSearch}, several let it decide; forged ones cost some microseconds now and then. The ratio
 * in force stays until another is found, and changes so seldom that flapping costs nothing.
 *
 * <p>A ratio is certain when the search has found it. The configured one is not, at first; nor is
 * any when data stand where it has parity, or when the peer has leapt to other numbers, as one does
 * that changes its ratio. Parity out of place does not count: it may be another session's.
 */
final class PeerRatio {

  /** Each change drops the groups in hand; a peer has no reason to change more often. */
  static final int CHANGE_INTERVAL_MS = 10_000;

  /** So many packets against the ratio in force put it in doubt. */
  private static final int DOUBT = 3;

  /** So many packets in a row that agree with it put an end to that. */
  private static final int TRUST = 512;

  private static final int FIRST_SEARCH_PACKETS = 8;
  private static final int MAX_SEARCH_PACKETS = 256;

  private final int maxShards;
  private int dataShards;
  private int parityShards;
  private long paws;

  private boolean isCertain;
  private RatioSearch search;
  private int contradictions;
  private int agreements;
  private int searchPackets = FIRST_SEARCH_PACKETS;
  private int untilSearch = FIRST_SEARCH_PACKETS;

  private int changes;
  private long changedAtMs;

  PeerRatio(FecConfig config) {
    maxShards = config.maxDetectedShards();
    if (config.isEncoding()) {
      become(config.dataShards(), config.parityShards());
      isCertain = maxShards == 0;
      search = isCertain ? null : new RatioSearch();
    }
  }

  private void become(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    paws = FecPacket.paws(dataShards + parityShards);
  }

  boolean isKnown() {
    return dataShards > 0;
  }

  /** Whether packets have shown the ratio in force, or no other is allowed. */
  boolean isCertain() {
    return isCertain;
  }

  /** The peer's numbers have leapt: its ratio may be another from here on. */
  void suspect() {
    if (maxShards > 0) {
      isCertain = false;
      search = new RatioSearch();
      untilSearch = FIRST_SEARCH_PACKETS;
      searchPackets = FIRST_SEARCH_PACKETS;
    }
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

  /** Whether a packet stands where such a packet stands by the ratio in force. */
  boolean fits(long seqid, boolean isData) {
    return seqid < paws && seqid % (dataShards + parityShards) < dataShards == isData;
  }

  /**
   * Takes note of a packet.
   *
   * @param fits what {@link #fits} says of it; false while no ratio is known
   * @return whether the ratio has changed
   */
  boolean observe(long seqid, boolean isData, boolean fits, long nowMs) {
    return !(fits && search == null) && maxShards > 0 && look(seqid, isData, fits, nowMs);
  }

  private boolean look(long seqid, boolean isData, boolean fits, long nowMs) {
    if (search == null) {
      search = new RatioSearch();
    }
    search.add(seqid, isData);
    isCertain &= fits || !isData;
    if (isKnown() && !isInDoubt(fits) && isCertain) {
      return false;
    }
    untilSearch--;
    if (untilSearch > 0) {
      return false;
    }
    searchPackets = Math.min(searchPackets + searchPackets / 8, MAX_SEARCH_PACKETS);
    untilSearch = searchPackets;
    return search.find() && settle(search.dataShards(), search.parityShards(), nowMs);
  }

  private boolean isInDoubt(boolean fits) {
    agreements = fits ? agreements + 1 : 0;
    contradictions += fits ? 0 : 1;
    if (agreements == TRUST && isCertain) {
      endSearch();
    }
    return contradictions >= DOUBT;
  }

  private boolean settle(int dataShards, int parityShards, long nowMs) {
    isCertain = dataShards == this.dataShards && parityShards == this.parityShards;
    if (isCertain) {
      endSearch();
      return false;
    }
    boolean tooSoon = changes > 0 && nowMs - changedAtMs < CHANGE_INTERVAL_MS;
    if (tooSoon || dataShards + parityShards > maxShards) {
      return false;
    }
    become(dataShards, parityShards);
    isCertain = true;
    changes++;
    changedAtMs = nowMs;
    searchPackets = FIRST_SEARCH_PACKETS;
    endSearch();
    return true;
  }

  private void endSearch() {
    search = null;
    contradictions = 0;
    agreements = 0;
    untilSearch = searchPackets;
  }
}
