package io.kcp4j.internal.memory;

import java.util.Arrays;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What the sessions of each network hold of a {@link MemoryLimit}, on all event loops. The part of
 * a network is an eighth of the limit. While a session waits for memory whose network is within its
 * part, networks over theirs are limited: they reserve nothing more, and give some back.
 * Thread-safe.
 */
public final class NetworkParts {

  /** The number of counters by network; several networks may share one. */
  static final int NETWORKS = 4096;

  private static final long NEVER = Long.MIN_VALUE;

  /** A network that holds no more than this part of the limit holds little. */
  private static final int LITTLE_PART = 64;

  private static final long TURN_DELAY_US = 20_000_000;

  /** No network. */
  public static final int NONE = -1;

  /** More than one network. */
  public static final int SEVERAL = -2;

  private static final int PARTS = 8;

  /** The networks over their part are looked for at most so often. */
  private static final long INTERVAL_US = 50_000;

  /** Networks stay limited for so long after a session has waited last: others follow it. */
  private static final long LIMITED_US = 1_000_000;

  private final long partBytes;
  private final long littleBytes;
  private final AtomicLong hashSeed = new AtomicLong();

  /**
   * For each event loop, what its sessions hold, by network, and behind that what they hold of the
   * share of sending. Only that event loop writes it.
   */
  private final AtomicReference<AtomicLongArray[]> counters =
      new AtomicReference<>(new AtomicLongArray[0]);

  /** When a session has waited last to send; {@link #NEVER} if none has within a second. */
  private volatile long sendAwaitedAtUs = NEVER;

  /** Null while no session within its part has waited. */
  private volatile Limited limited;

  /**
   * The networks over their part.
   *
   * @param largest the one that holds most, or {@link #NONE}
   * @param waiting the network whose sessions wait, which is not limited, or {@link #SEVERAL}
   * @param waitedAtUs when a session waited
   */
  private record Limited(BitSet networks, int largest, int waiting, long waitedAtUs) {}

  NetworkParts(long limitBytes) {
    partBytes = limitBytes / PARTS;
    littleBytes = Math.max(1, limitBytes / LITTLE_PART);
  }

  /** The seed for hashes of networks, the same on all event loops: the first that is proposed. */
  public long hashSeed(long proposed) {
    hashSeed.compareAndSet(0, proposed);
    return hashSeed.get();
  }

  /** Counters for what the sessions of one event loop hold: see {@link #counters}. */
  AtomicLongArray newCounters() {
    AtomicLongArray added = new AtomicLongArray(2 * NETWORKS);
    counters.updateAndGet(
        before -> {
          AtomicLongArray[] after = Arrays.copyOf(before, before.length + 1);
          after[before.length] = added;
          return after;
        });
    return added;
  }

  /** What the sessions of a network hold, in bytes. */
  long bytes(int network) {
    return sum(network);
  }

  /** What the sessions of a network hold of the share of sending, in bytes. */
  long sendBytes(int network) {
    return sum(NETWORKS + network);
  }

  private long sum(int index) {
    long bytes = 0;
    for (AtomicLongArray loop : counters.get()) {
      bytes += loop.getOpaque(index);
    }
    return bytes;
  }

  /** The part of a network, in bytes. */
  long partBytes() {
    return partBytes;
  }

  /** Whether a network holds more than its part. */
  public boolean isOver(int network) {
    return bytes(network) > partBytes;
  }

  /**
   * How much later than others a network has its next turn, for each time that it holds twice as
   * much as is little: networks that hold little need not wait for all those that hold much, and
   * nobody waits for ever.
   */
  public long turnDelayUs(int network) {
    long times = bytes(network) / littleBytes;
    return (Long.SIZE - Long.numberOfLeadingZeros(times)) * TURN_DELAY_US;
  }

  /** A session waits for memory to send. */
  public void awaitSending(long nowUs) {
    if (sendAwaitedAtUs == NEVER || nowUs - sendAwaitedAtUs >= INTERVAL_US) {
      sendAwaitedAtUs = nowUs;
    }
  }

  /** Whether a session has waited to send lately, on any event loop. */
  public boolean isSendAwaited() {
    return sendAwaitedAtUs != NEVER;
  }

  /**
   * Sessions wait for memory whose networks are within their parts.
   *
   * @param network that of these sessions, or {@link #SEVERAL}
   */
  public void limitOthers(int network, long nowUs) {
    Limited before = limited;
    int waiting = before == null || before.waiting == network ? network : SEVERAL;
    boolean isRecent = before != null && nowUs - before.waitedAtUs < INTERVAL_US;
    if (isRecent && before.waiting == waiting) {
      return;
    }
    BitSet over = new BitSet();
    int largest = NONE;
    for (int other = 0; other < NETWORKS; other++) {
      if (other != waiting && isOver(other)) {
        over.set(other);
        largest = largest == NONE || bytes(other) > bytes(largest) ? other : largest;
      }
    }
    limited = new Limited(over, largest, waiting, nowUs);
  }

  /** Whether networks over their part are limited. */
  public boolean isLimited() {
    return limited != null;
  }

  /** Whether a network may not reserve more, which holds {@code bytes} then on one event loop. */
  boolean isLimited(int network, long bytes) {
    Limited now = limited;
    return now != null
        && network != now.waiting
        && (now.networks.get(network) || bytes > partBytes);
  }

  /** The network that has to give memory back, if a session has waited since; or {@link #NONE}. */
  public int toShrink(long sinceUs) {
    Limited now = limited;
    return now != null && now.waitedAtUs - sinceUs >= 0 ? now.largest : NONE;
  }

  /** Ends the limits some time after a session has waited last. */
  public void update(long nowUs) {
    if (isSendAwaited() && nowUs - sendAwaitedAtUs > LIMITED_US) {
      sendAwaitedAtUs = NEVER;
    }
    Limited now = limited;
    if (now != null && nowUs - now.waitedAtUs > LIMITED_US) {
      limited = null;
    }
  }
}
