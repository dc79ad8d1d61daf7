package io.kcp4j.fec;

import java.util.Arrays;

/**
 * Finds how many data and parity packets a peer's groups have, from which of its recent sequence
 * numbers were data and which parity: protocol.md 11.9.
 *
 * <p>Theory. Numbers start at 0 and run modulo a multiple of the group's size n, so every group
 * begins at a multiple of n, and in every group all data stand before all parity. A size is
 * possible if nothing seen contradicts that. The true one is never contradicted, whatever is lost
 * and whatever parity is left out; so when only one size from 2 to 256 is left, it is the true one.
 * Then the boundary is known as soon as both of its neighbours have been seen: the last data and
 * the first parity place. If no size is left, the packets come from two ratios, or not all from the
 * peer, and the collection starts anew.
 *
 * <p>Where parity is mostly left out, multiples of the true size stay possible for long. That the
 * smallest looks likely is no proof: a network that drops in step with the groups can make 3+1 look
 * like 1+1 for ever.
 *
 * <p>Sequence numbers are seen in a window that follows the newest. A few far from it are ignored;
 * many in a row move the window.
 */
final class RatioSearch {

  private static final int WORDS = 8;

  /** Eight groups of the largest size detected by default. */
  private static final int WINDOW = WORDS * Long.SIZE;

  /** How far ahead of the window a number may be to move it at once. */
  private static final int MAX_STEP = WINDOW / 2;

  /** How many numbers in a row have to be elsewhere to move the window there. */
  private static final int MAX_OUTLIERS = 8;

  private final long[] data = new long[WORDS];
  private final long[] parity = new long[WORDS];
  private boolean isEmpty = true;
  private long base;
  private int outliers;

  private int shards;
  private int lastData;
  private int firstParity;

  /** Notes that a packet of such a kind has arrived. */
  void add(long seqid, boolean isData) {
    if (isEmpty) {
      restart(seqid);
    }
    long offset = seqid - base;
    if (offset >= WINDOW && offset < WINDOW + MAX_STEP) {
      slide((int) (offset - WINDOW) / Long.SIZE + 1);
    } else if (offset < 0 || offset >= WINDOW) {
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
   * Looks for the ratio. Takes some microseconds when several sizes are still possible. When the
   * last number lay elsewhere nothing is found: the peer may have gone there, with another ratio.
   *
   * @return whether it is known now; then {@link #dataShards} and {@link #parityShards} tell it
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

  /** Whether no data stand behind parity if groups have that size; notes where they meet. */
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

  /** {@code width} bits from an index that may be outside the window, where there are none. */
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
