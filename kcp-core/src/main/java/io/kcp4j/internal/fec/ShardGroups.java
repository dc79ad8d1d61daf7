package io.kcp4j.internal.fec;

import io.kcp4j.internal.fec.FecDecoder.Result;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;

/**
 * The newest groups of a peer with a known ratio: which packets of each have arrived, and copies of
 * them until the group is complete; protocol.md 11.5 to 11.8.
 *
 * <p>A ring holds the groups by number. A group is open until all its data have arrived, or as many
 * packets of either type, which it keeps for {@link #loadRecoverable}. From then on it holds no
 * packets, and only the state that it is complete. A group is dropped when a newer one needs its
 * slot, or when the decoder reaches its memory limit.
 *
 * <p>The ring follows the newest group. A single packet advances it by at most half of the ring, so
 * that one forged number cannot drop all valid groups. After several consecutive outliers the peer
 * has jumped, and the ring starts over: equal numbers no longer mean equal groups. {@link
 * FecDecoder} keeps replayed packets away, which would be outliers behind the ring.
 */
final class ShardGroups {

  /** kcp-go keeps the newest group and three before it. */
  private static final int MIN_GROUPS = 4;

  /**
   * The packets kept before the newest group: small groups tolerate as much reordering as large
   * ones.
   */
  private static final int MIN_PACKETS = 128;

  /** The memory limit of a decoder, or two full groups of full packets if that is more. */
  static final int MAX_HELD_BYTES = 256 * 1024;

  private static final int FULL_PACKET_BYTES = 1536;

  /** The number of consecutive outliers that are ignored; the next one moves the ring. */
  private static final int MAX_OUTLIERS = 2;

  private static final int NONE = -1;

  static final int REFERENCE_BYTES = 4;

  /** The entries of a group in the arrays, and those of a packet. */
  private static final int GROUP_BYTES = Integer.BYTES + 1 + 4 * Character.BYTES;

  private static final int SHARD_BYTES = REFERENCE_BYTES + Character.BYTES;

  /** The headers of the arrays, and the ring itself. */
  private static final int HEADERS_BYTES = 256;

  /** The length of data that have arrived but are not kept; every shard is longer. */
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

  /**
   * The length of the parity shards of the group, all of which are equal; 0 while there is none.
   */
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

  /** The position of the current packet. */
  private int atNumber;

  private int atSlot;

  private int atPlace;

  /** An empty ring, which is charged until {@link #close}; null if there is no memory. */
  static ShardGroups create(int dataShards, int parityShards, FecContext context) {
    return context.make(
        arrayBytes(dataShards + parityShards),
        () -> new ShardGroups(dataShards, parityShards, context));
  }

  private ShardGroups(int dataShards, int parityShards, FecContext context) {
    this.context = context;
    this.dataShards = dataShards;
    groupShards = dataShards + parityShards;
    groupsInPaws = (int) (FecPacket.paws(groupShards) / groupShards);
    maxHeldBytes = Math.max(MAX_HELD_BYTES, 2 * groupShards * FULL_PACKET_BYTES);
    int groups = groups(groupShards);
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

  private static int groups(int groupShards) {
    return Math.max(MIN_GROUPS, 1 + (MIN_PACKETS + groupShards - 1) / groupShards);
  }

  private static int arrayBytes(int groupShards) {
    return HEADERS_BYTES + groups(groupShards) * (GROUP_BYTES + groupShards * SHARD_BYTES);
  }

  /** The memory of the packets, in bytes. */
  int heldBytes() {
    return heldBytes;
  }

  /** The memory of the ring itself, which is charged as well, in bytes. */
  int arrayBytes() {
    return arrayBytes(groupShards);
  }

  /** The first number of the newest group; to be called after a packet was added. */
  long newestSeqid() {
    return (long) newest * groupShards;
  }

  /** The packets of all groups in the ring, arrived or not. */
  int keptPackets() {
    return numbers.length * groupShards;
  }

  /**
   * Adds a packet.
   *
   * @param number of its group
   * @param place in the group, which is valid for its type
   * @param packet the buffer of its shard, {@code bytes} from {@code index} on, copied if needed
   */
  Result add(int number, int place, ByteBuf packet, int index, int bytes) {
    boolean isData = place < dataShards;
    Result result = classify(number, place, isData, bytes);
    if (result != Result.KEPT) {
      if (result == Result.MISPLACED && isData) {
        noteArrival(atSlot, atPlace);
      }
      return result;
    }
    if (isData && dataCounts[atSlot] == dataShards - 1) {
      complete(atSlot);
      return Result.KEPT;
    }
    byte[] copy = acquire(bytes);
    if (copy == null) {
      if (isData) {
        noteArrival(atSlot, atPlace);
      }
      return Result.NOT_KEPT;
    }
    FecPacket.read(packet, index, copy, bytes);
    put(isData, copy, bytes);
    return Result.KEPT;
  }

  /** Adds a packet and takes the ownership of its shard. */
  void add(int number, int place, byte[] shard, int bytes) {
    boolean isData = place < dataShards;
    if (classify(number, place, isData, bytes) != Result.KEPT) {
      context.release(shard);
      return;
    }
    heldBytes += shard.length;
    put(isData, shard, bytes);
    if (dataCounts[atSlot] == dataShards) {
      complete(atSlot);
    }
  }

  /** Records that data have arrived without being kept: they need no recovery. */
  private void noteArrival(int slot, int place) {
    lengths[slot * groupShards + place] = ARRIVED;
  }

  /** Records data that arrive before their recovery, and make it unnecessary. */
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

  /** The distance of a group after another one, negative before it; numbers wrap with paws. */
  private int distance(int number, int from) {
    int distance = number - from;
    if (distance > groupsInPaws / 2) {
      return distance - groupsInPaws;
    }
    return distance < -(groupsInPaws / 2) ? distance + groupsInPaws : distance;
  }

  /** Whether to keep a packet, at {@code atSlot} and {@code atPlace}. */
  private Result classify(int number, int place, boolean isData, int bytes) {
    atPlace = place;
    if (number != atNumber) {
      atNumber = number;
      atSlot = number % numbers.length;
    }
    if (!advanceTo(number) || !claim(atSlot, number)) {
      return Result.STALE;
    }
    if (states[atSlot] != OPEN || shards[atSlot * groupShards + atPlace] != null) {
      if (states[atSlot] == RECOVERABLE && isData) {
        noteLateArrival();
      }
      return Result.DUPLICATE;
    }
    if (!isFitting(isData, bytes)) {
      return Result.MISPLACED;
    }
    outliers = 0;
    return Result.KEPT;
  }

  /** Whether a group is in the ring, which advances if the group is just ahead. */
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

  /** Whether consecutive outliers near each other confirm a jump; then moves the ring. */
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

  /** Assigns a slot to a group, unless a newer one has it. */
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
    if (heldBytes + FecContext.sizeFor(bytes) > maxHeldBytes) {
      return null;
    }
    byte[] array = context.acquire(bytes);
    heldBytes += array == null ? 0 : array.length;
    return array;
  }

  /** Drops the oldest group that holds packets, except for the current one. */
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

  /** Whether the sequence numbers have jumped since the previous call. */
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
   * Loads a group that has enough packets, but not all data, and releases it. The caller has
   * checked {@link #isRecoverable}.
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

  /** Releases everything. */
  void close() {
    release();
    context.release(arrayBytes());
  }

  /** Drops every group. */
  private void release() {
    for (int slot = 0; slot < numbers.length; slot++) {
      drop(slot);
    }
  }
}
