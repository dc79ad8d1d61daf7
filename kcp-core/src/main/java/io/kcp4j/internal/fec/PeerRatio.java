package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;
import java.util.Arrays;

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

  /**
   * The largest groups that are accepted of a ratio other than the configured one. Limits the work
   * that a peer can cause: larger codecs take milliseconds to build.
   */
  static final int MAX_DETECTED_SHARDS = 64;

  private static final int MAX_SEARCH_PACKETS = 256;

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
    if (isTooSoon || dataShards + parityShards > MAX_DETECTED_SHARDS) {
      return false;
    }
    use(dataShards, parityShards);
    changes++;
    changedAtUs = nowUs;
    search = null;
    return true;
  }

  /**
   * Ratio detection: finds how many data and parity packets the groups of a peer have, from the
   * types of its packets by sequence number; protocol.md 11.9.
   *
   * <p>Theory. Numbers start at 0 and run modulo a multiple of the group's size n, so every group
   * begins at a multiple of n, and in every group data precede parity. A size is possible if no
   * received packet contradicts that. The true size is never contradicted, whatever is lost and
   * whatever parity is not sent; so the only possible size from 2 to 256 is the true one. Then the
   * boundary is known as soon as the last data and the first parity place have both been seen. If
   * no size is possible, the packets have two ratios, or are not all from the peer, and the search
   * starts over.
   *
   * <p>Where most parity is not sent, multiples of the true size remain possible for long. The
   * smallest possible size is likely, but not proven: losses with the period of the groups can make
   * 3+1 look like 1+1 indefinitely.
   *
   * <p>Sequence numbers are recorded in a window that follows the newest. Outliers far from it are
   * ignored; many consecutive ones move the window.
   */
  static final class RatioSearch {

    private static final int WORDS = 8;

    /** Eight groups of the largest size that is detected. */
    private static final int WINDOW = WORDS * Long.SIZE;

    /** A number that is at most this far ahead of the window advances it. */
    private static final int MAX_STEP = WINDOW / 2;

    /** The number of consecutive outliers that move the window. */
    private static final int MAX_OUTLIERS = 8;

    private final long[] data = new long[WORDS];
    private final long[] parity = new long[WORDS];
    private boolean isEmpty = true;
    private long base;
    private int outliers;

    private int shards;
    private int lastData;
    private int firstParity;

    /** Records a packet. One that may be a replay does not move the window back. */
    void add(long seqid, boolean isData, boolean isFresh) {
      if (isEmpty) {
        restart(seqid);
      }
      long offset = seqid - base;
      if (offset >= WINDOW && offset < WINDOW + MAX_STEP) {
        slide((int) (offset - WINDOW) / Long.SIZE + 1);
      } else if (offset < 0 || offset >= WINDOW) {
        if (offset < 0 && !isFresh) {
          return;
        }
        outliers++;
        if (outliers < MAX_OUTLIERS) {
          return;
        }
        restart(seqid);
      }
      outliers = 0;
      int bit = (int) (seqid - base);
      long[] words = isData ? data : parity;
      words[bit >>> 6] |= 1L << bit;
    }

    private void restart(long seqid) {
      clear();
      isEmpty = false;
      base = Math.max(0, seqid - WINDOW / 4) & -Long.SIZE;
    }

    private void clear() {
      Arrays.fill(data, 0);
      Arrays.fill(parity, 0);
      isEmpty = true;
      outliers = 0;
    }

    private void slide(int words) {
      slide(data, words);
      slide(parity, words);
      base += (long) words * Long.SIZE;
    }

    private static void slide(long[] bits, int words) {
      System.arraycopy(bits, words, bits, 0, WORDS - words);
      Arrays.fill(bits, WORDS - words, WORDS, 0);
    }

    /**
     * Searches the ratio. Takes some microseconds while several sizes are possible. Finds nothing
     * if the last number was an outlier: the peer may have jumped there, with another ratio.
     *
     * @return whether it is known now, as {@link #dataShards} and {@link #parityShards}
     */
    boolean find() {
      if (outliers > 0 || !hasSeenBoth()) {
        return false;
      }
      int found = 0;
      for (int candidate = 2; candidate <= FecConfig.MAX_SHARDS; candidate++) {
        if (isPossible(candidate)) {
          if (found != 0) {
            return false;
          }
          found = candidate;
        }
      }
      if (found == 0) {
        clear();
        return false;
      }
      return isPossible(found) && lastData + 1 == firstParity;
    }

    private boolean hasSeenBoth() {
      long seenData = 0;
      long seenParity = 0;
      for (int word = 0; word < WORDS; word++) {
        seenData |= data[word];
        seenParity |= parity[word];
      }
      return seenData != 0 && seenParity != 0;
    }

    int dataShards() {
      return firstParity;
    }

    int parityShards() {
      return shards - firstParity;
    }

    /** Whether no data follow parity in groups of that size; records the boundary. */
    private boolean isPossible(int shards) {
      this.shards = shards;
      lastData = -1;
      firstParity = shards;
      for (int group = -(int) (base % shards); group < WINDOW; group += shards) {
        for (int place = 0; place < shards; place += Long.SIZE) {
          int width = Math.min(Long.SIZE, shards - place);
          long dataHere = bits(data, group + place, width);
          long parityHere = bits(parity, group + place, width);
          if (dataHere != 0) {
            lastData = Math.max(lastData, place + 63 - Long.numberOfLeadingZeros(dataHere));
          }
          if (parityHere != 0) {
            firstParity = Math.min(firstParity, place + Long.numberOfTrailingZeros(parityHere));
          }
          if (lastData >= firstParity) {
            return false;
          }
        }
      }
      return true;
    }

    /** {@code width} bits from an index on; bits outside the window are zero. */
    private static long bits(long[] words, int index, int width) {
      if (index < 0) {
        return -index >= width ? 0 : bits(words, 0, width + index) << -index;
      }
      int word = index >>> 6;
      if (word >= WORDS) {
        return 0;
      }
      int shift = index & 63;
      long bits = words[word] >>> shift;
      if (shift != 0 && word + 1 < WORDS) {
        bits |= words[word + 1] << (Long.SIZE - shift);
      }
      return width == Long.SIZE ? bits : bits & ((1L << width) - 1);
    }
  }
}
