package io.kcp4j.fec;

/**
 * The ratio of data to parity that the peer uses, as far as it is known: protocol.md 11.9, 11.10.
 *
 * <p>An honest packet never contradicts the right ratio, so while nothing does there is nothing to
 * find out and nothing to remember. The first contradiction starts a {@link RatioSearch}, several
 * let it decide; forged ones cost some microseconds now and then. The ratio in force stays until
 * another is certain, and changes so seldom that flapping costs nothing.
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

  /**
   * The group that was located last, and its first number: the next packet is often of the same.
   */
  private int group;

  private long groupStart;
  private int place;

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
    }
  }

  private void become(int dataShards, int parityShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    paws = FecPacket.paws(dataShards + parityShards);
    group = 0;
    groupStart = 0;
  }

  boolean isKnown() {
    return dataShards > 0;
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
    return !(fits && search == null) && maxShards > 0 && look(seqid, isData, fits, nowMs);
  }

  private boolean look(long seqid, boolean isData, boolean fits, long nowMs) {
    if (search == null) {
      search = new RatioSearch();
    }
    search.add(seqid, isData);
    if (isKnown() && !isInDoubt(fits)) {
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
    if (agreements == TRUST) {
      endSearch();
    }
    return contradictions >= DOUBT;
  }

  private boolean settle(int dataShards, int parityShards, long nowMs) {
    if (dataShards == this.dataShards && parityShards == this.parityShards) {
      endSearch();
      return false;
    }
    boolean tooSoon = changes > 0 && nowMs - changedAtMs < CHANGE_INTERVAL_MS;
    if (tooSoon || dataShards + parityShards > maxShards) {
      return false;
    }
    become(dataShards, parityShards);
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
