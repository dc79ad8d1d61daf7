package io.kcp4j.fec;

import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * The newest groups of a peer whose ratio is known: who of each has arrived, and copies of them
 * until the group is complete: protocol.md 11.5 to 11.8.
 *
 * <p>Groups stand in a ring by number. Each is open until all its data have arrived, or as many
 * packets of either kind, which then wait in it for {@link #loadRecoverable}; from then on it holds
 * nothing, and only remembers that it is complete. A group is given up when a newer one needs its
 * place in the ring, or when the decoder holds too much.
 *
 * <p>The ring follows the newest group. One step ahead is at most half the ring, so that a single
 * forged number cannot push honest groups out; where several numbers in a row lie elsewhere, the
 * peer has gone there, and the ring begins anew: what has the same numbers as before is not the
 * same.
 */
final class ShardGroups {

  /** kcp-go keeps the newest group and three before it. */
  private static final int MIN_GROUPS = 4;

  /**
   * Small groups stand as much reordering as large ones: so many packets before the newest group.
   */
  private static final int MIN_PACKETS = 128;

  /** What a decoder holds at most, or two full groups of full packets if that is more. */
  static final int MAX_HELD_BYTES = 256 * 1024;

  private static final int FULL_PACKET_BYTES = 1536;

  /** So many packets in a row may be elsewhere; the next one moves the ring there. */
  private static final int MAX_OUTLIERS = 2;

  private static final int NONE = -1;

  /** In place of the length of data of which there is no copy; no shard is so short. */
  private static final char ARRIVED = 1;

  private static final byte OPEN = 0;
  private static final byte RECOVERABLE = 1;
  private static final byte COMPLETE = 2;

  private final FecContext context;
  private final int dataShards;
  private final int groupShards;
  private final int groupsInPaws;
  private final int maxHeldBytes;

  private final int[] numbers;
  private final byte[] states;
  private final char[] dataCounts;
  private final char[] parityCounts;
  private final char[] longestData;

  /** Length of the group's parity shards, all of which are equally long; 0 while there is none. */
  private final char[] parityLengths;

  private final byte[][] shards;
  private final char[] lengths;

  private int newest = NONE;
  private int recoverable;
  private int heldBytes;

  private int outliers;
  private boolean hasJumped;
  private final int[] outlierNumbers = new int[MAX_OUTLIERS];
  private final int[] outlierPlaces = new int[MAX_OUTLIERS];

  /** Where the packet at hand belongs. */
  private int atNumber;

  private int atSlot;

  private int atPlace;

  ShardGroups(int dataShards, int parityShards, FecContext context) {
    this.context = context;
    this.dataShards = dataShards;
    groupShards = dataShards + parityShards;
    groupsInPaws = (int) (FecPacket.paws(groupShards) / groupShards);
    maxHeldBytes = Math.max(MAX_HELD_BYTES, 2 * groupShards * FULL_PACKET_BYTES);
    int groups = Math.max(MIN_GROUPS, 1 + (MIN_PACKETS + groupShards - 1) / groupShards);
    numbers = new int[groups];
    Arrays.fill(numbers, NONE);
    states = new byte[groups];
    dataCounts = new char[groups];
    parityCounts = new char[groups];
    longestData = new char[groups];
    parityLengths = new char[groups];
    shards = new byte[groups * groupShards][];
    lengths = new char[groups * groupShards];
  }

  int heldBytes() {
    return heldBytes;
  }

  /**
   * Takes in a packet.
   *
   * @param number its group's number
   * @param place its place in the group, which is one for its kind
   * @param packet holds its shard, {@code bytes} from {@code index} on, which is copied if need be
   */
  FecResult add(int number, int place, ByteBuf packet, int index, int bytes) {
    boolean isData = place < dataShards;
    FecResult result = classify(number, place, isData, bytes);
    if (result != FecResult.KEPT) {
      if (result == FecResult.MISPLACED && isData) {
        noteArrival(atSlot, atPlace);
      }
      return result;
    }
    if (isData && dataCounts[atSlot] == dataShards - 1) {
      complete(atSlot);
      return FecResult.KEPT;
    }
    byte[] copy = acquire(bytes);
    if (copy == null) {
      if (isData) {
        noteArrival(atSlot, atPlace);
      }
      return FecResult.NOT_KEPT;
    }
    FecPacket.read(packet, index, copy, bytes);
    put(isData, copy, bytes);
    return FecResult.KEPT;
  }

  /** Takes in a packet whose shard is ours already, and becomes this group's. */
  void add(int number, int place, byte[] shard, int bytes) {
    boolean isData = place < dataShards;
    if (classify(number, place, isData, bytes) != FecResult.KEPT) {
      context.release(shard);
      return;
    }
    heldBytes += shard.length;
    put(isData, shard, bytes);
    if (dataCounts[atSlot] == dataShards) {
      complete(atSlot);
    }
  }

  /** Keeps in mind that data have arrived of which there is no copy: they need no recovery. */
  private void noteArrival(int slot, int place) {
    lengths[slot * groupShards + place] = ARRIVED;
  }

  /** Data that come before they are recovered need no recovery any more. */
  private void noteLateArrival() {
    int i = atSlot * groupShards + atPlace;
    if (shards[i] == null && lengths[i] != ARRIVED) {
      lengths[i] = ARRIVED;
      dataCounts[atSlot]++;
      if (dataCounts[atSlot] == dataShards) {
        complete(atSlot);
      }
    }
  }

  /** How far one group is behind another, negative if it is before it; numbers wrap with paws. */
  private int distance(int number, int from) {
    int distance = number - from;
    if (distance > groupsInPaws / 2) {
      return distance - groupsInPaws;
    }
    return distance < -(groupsInPaws / 2) ? distance + groupsInPaws : distance;
  }

  /** Whether a packet is to be kept; then {@code atSlot} and {@code atPlace} tell where. */
  private FecResult classify(int number, int place, boolean isData, int bytes) {
    atPlace = place;
    if (number != atNumber) {
      atNumber = number;
      atSlot = number % numbers.length;
    }
    if (!advanceTo(number) || !claim(atSlot, number)) {
      return FecResult.STALE;
    }
    if (states[atSlot] != OPEN || shards[atSlot * groupShards + atPlace] != null) {
      if (states[atSlot] == RECOVERABLE && isData) {
        noteLateArrival();
      }
      return FecResult.DUPLICATE;
    }
    if (!isFitting(isData, bytes)) {
      return FecResult.MISPLACED;
    }
    outliers = 0;
    return FecResult.KEPT;
  }

  /** Whether a group is within the ring, which moves on if it is just ahead. */
  private boolean advanceTo(int number) {
    int ahead = newest == NONE ? 1 : distance(number, newest);
    if (ahead > 0 && ahead <= numbers.length / 2) {
      newest = number;
      return true;
    }
    return isInRing(ahead) || isConfirmed(number);
  }

  private boolean isInRing(int ahead) {
    return ahead <= 0 && ahead > -numbers.length;
  }

  /** Whether packets elsewhere have come in a row, and from near each other; then goes there. */
  private boolean isConfirmed(int number) {
    if (outliers > 0) {
      int last = outliers - 1;
      if (Math.abs(distance(number, outlierNumbers[last])) >= numbers.length) {
        outliers = 0;
      } else if (number == outlierNumbers[last] && atPlace == outlierPlaces[last]) {
        return false;
      }
    }
    if (outliers < MAX_OUTLIERS) {
      outlierNumbers[outliers] = number;
      outlierPlaces[outliers] = atPlace;
      outliers++;
      return false;
    }
    release();
    hasJumped = true;
    newest = number;
    for (int i = 0; i < MAX_OUTLIERS; i++) {
      noteOutlier(outlierNumbers[i], outlierPlaces[i]);
    }
    outliers = 0;
    return true;
  }

  private void noteOutlier(int number, int place) {
    int slot = number % numbers.length;
    if (place < dataShards && isInRing(distance(number, newest)) && claim(slot, number)) {
      noteArrival(slot, place);
    }
  }

  /** Gives a group its slot, unless a newer one has it. */
  private boolean claim(int slot, int number) {
    int old = numbers[slot];
    if (old == number) {
      return true;
    }
    if (old != NONE && distance(old, number) > 0 && isInRing(distance(old, newest))) {
      return false;
    }
    drop(slot);
    numbers[slot] = number;
    return true;
  }

  /** Parity is as long as the longest data shard, and equally long throughout a group. */
  private boolean isFitting(boolean isData, int bytes) {
    int parityLength = parityLengths[atSlot];
    if (isData) {
      return parityLength == 0 || bytes <= parityLength;
    }
    return parityLength == 0 ? bytes >= longestData[atSlot] : bytes == parityLength;
  }

  private byte[] acquire(int bytes) {
    byte[] array = tryAcquire(bytes);
    if (array == null && dropOldestOther()) {
      array = tryAcquire(bytes);
    }
    return array;
  }

  private byte[] tryAcquire(int bytes) {
    if (heldBytes + ShardPool.sizeFor(bytes) > maxHeldBytes) {
      return null;
    }
    byte[] array = context.acquire(bytes);
    heldBytes += array == null ? 0 : array.length;
    return array;
  }

  /** Gives up the oldest group that holds anything, but not the one that something is kept for. */
  private boolean dropOldestOther() {
    int oldest = NONE;
    for (int i = 0; i < numbers.length; i++) {
      boolean holds = dataCounts[i] + parityCounts[i] > 0 && states[i] != COMPLETE;
      if (i != atSlot && holds && (oldest == NONE || distance(numbers[i], numbers[oldest]) < 0)) {
        oldest = i;
      }
    }
    if (oldest == NONE) {
      return false;
    }
    drop(oldest);
    return true;
  }

  private void put(boolean isData, byte[] shard, int bytes) {
    shards[atSlot * groupShards + atPlace] = shard;
    lengths[atSlot * groupShards + atPlace] = (char) bytes;
    if (isData) {
      dataCounts[atSlot]++;
      longestData[atSlot] = (char) Math.max(longestData[atSlot], bytes);
    } else {
      parityCounts[atSlot]++;
      parityLengths[atSlot] = (char) bytes;
    }
    if (dataCounts[atSlot] < dataShards
        && dataCounts[atSlot] + parityCounts[atSlot] == dataShards) {
      states[atSlot] = RECOVERABLE;
      recoverable++;
    }
  }

  /** Whether the peer has gone elsewhere since this was asked last. */
  boolean hasJumped() {
    boolean jumped = hasJumped;
    hasJumped = false;
    return jumped;
  }

  /** Whether {@link #loadRecoverable} has something to load. */
  boolean isRecoverable() {
    return recoverable > 0;
  }

  /**
   * Loads a group that has as many packets as it needs, but not all data, and releases it. There is
   * one.
   */
  void loadRecoverable(ShardCodec codec, Object owner) {
    int slot = 0;
    while (states[slot] != RECOVERABLE) {
      slot++;
    }
    codec.begin(owner, parityLengths[slot]);
    for (int place = 0; place < groupShards; place++) {
      byte[] shard = shards[slot * groupShards + place];
      if (shard != null) {
        codec.load(place, shard, lengths[slot * groupShards + place]);
      } else if (place < dataShards && lengths[slot * groupShards + place] != ARRIVED) {
        codec.want(place);
      }
    }
    complete(slot);
  }

  private void complete(int slot) {
    release(slot);
    states[slot] = COMPLETE;
  }

  private void drop(int slot) {
    release(slot);
    Arrays.fill(lengths, slot * groupShards, (slot + 1) * groupShards, '\0');
    numbers[slot] = NONE;
    states[slot] = OPEN;
    dataCounts[slot] = 0;
    parityCounts[slot] = 0;
    longestData[slot] = 0;
    parityLengths[slot] = 0;
  }

  private void release(int slot) {
    if (states[slot] == RECOVERABLE) {
      recoverable--;
    }
    if (states[slot] == COMPLETE || dataCounts[slot] + parityCounts[slot] == 0) {
      return;
    }
    for (int i = slot * groupShards; i < (slot + 1) * groupShards; i++) {
      if (shards[i] != null) {
        heldBytes -= shards[i].length;
        context.release(shards[i]);
        shards[i] = null;
      }
    }
  }

  /** Gives up every group. */
  void release() {
    for (int slot = 0; slot < numbers.length; slot++) {
      drop(slot);
    }
  }
}
