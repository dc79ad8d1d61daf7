package io.kcp4j.lanes;

/**
 * What has been received on one lane and is not read, or not complete: the messages that can be
 * read, in order, and a ring of those from the lane's {@code base} on, by number. The base is the
 * lowest number of which not all has arrived. Exists only while there is something.
 */
final class LaneInbox {

  /** Rings of this capacity do not count against the memory budget. */
  private static final int MIN_RING = 4;

  private static final InboundMessage[] NO_RING = {};

  private InboundMessage[] ring = NO_RING;

  /** One more than the highest number of which anything has arrived; at least the base. */
  int end;

  private InboundMessage first;
  private InboundMessage last;
  private int readable;

  /** Whether the number is known before which the peer ends the lane. */
  boolean hasFin;

  int fin;

  /** How much the peer has sent of the last message if it has not sent all of it; else 0. */
  int cutBytes;

  LaneInbox(int base) {
    end = base;
  }

  /** Whether nothing is there to be read, to be completed, or to end. */
  boolean isEmpty(int base) {
    return first == null && end == base && !hasFin;
  }

  // Messages that can be read

  InboundMessage first() {
    return first;
  }

  /** How many messages can be read. */
  int readable() {
    return readable;
  }

  void add(InboundMessage message) {
    if (first == null) {
      first = message;
    } else {
      last.next = message;
    }
    last = message;
    readable++;
  }

  InboundMessage remove() {
    InboundMessage removed = first;
    first = removed.next;
    removed.next = null;
    readable--;
    if (first == null) {
      last = null;
    }
    return removed;
  }

  // Messages by number

  /** The message with this number, at least the base; null if nothing of it has arrived. */
  InboundMessage get(int number) {
    return number - end >= 0 || ring.length == 0 ? null : ring[number & (ring.length - 1)];
  }

  /** Sets the message with a number from {@code base} on; the ring has room after {@link #grow}. */
  void set(int number, InboundMessage message) {
    ring[number & (ring.length - 1)] = message;
  }

  /** Whether a message that begins has its place in the ring: others are delivered at once. */
  boolean isRingNeeded(int base, int number, boolean isFragment) {
    return number != base || end != base || isFragment;
  }

  /**
   * The size that the ring needs for the numbers from {@code base} to {@link #end}, and for {@code
   * number}.
   */
  int neededCapacity(int base, int number) {
    int needed = Math.max(number + 1 - base, end - base);
    return needed <= ring.length
        ? ring.length
        : Math.max(MIN_RING, Integer.highestOneBit(2 * needed - 1));
  }

  /** How much of the memory budget a ring of this capacity takes, in bytes. */
  static int ringBytes(int capacity) {
    return capacity <= MIN_RING ? 0 : Long.BYTES * capacity;
  }

  /** Makes the ring larger, if it is smaller. */
  void grow(int base, int capacity) {
    if (capacity == ring.length) {
      return;
    }
    InboundMessage[] larger = new InboundMessage[capacity];
    for (int i = base; ring.length > 0 && i != end; i++) {
      larger[i & (larger.length - 1)] = ring[i & (ring.length - 1)];
    }
    ring = larger;
  }

  /** How many numbers the ring has room for. */
  int capacity() {
    return ring.length;
  }

  /** Releases a large ring, in which nothing is. */
  void releaseRing() {
    ring = NO_RING;
  }
}
