package io.kcp4j.internal.lanes;

import io.kcp4j.internal.wire.HashMixer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * What has been received on one lane and is not read, or not complete: the messages that can be
 * read, in order, and by number those that are not complete or wait for others. Exists only while
 * there is something.
 *
 * <p>Numbers are found by hashing, so memory follows the messages that have arrived, however far
 * apart their numbers are. Each of them counts {@link InboundMessage.Memory#OVERHEAD_BYTES}, which
 * includes its place here. Numbers are hashed with a secret seed: the peer chooses them, and could
 * choose those that collide.
 */
final class LaneInbox extends InboundMessage.Queue {

  private static final int MIN_CAPACITY = 4;

  /** A table that has been filled to less than this part shrinks. */
  private static final int SPARSE_PART = 8;

  private static final InboundMessage[] NONE = {};
  private static final int[] NO_NUMBERS = {};

  private final long hashSeed;

  private InboundMessage[] messages = NONE;
  private int[] numbers = NO_NUMBERS;
  private int size;

  /** One more than the highest number of which anything has arrived; at least the base. */
  int end;

  /** The same with the frames of the segment that is being planned. */
  int plannedEnd;

  /** For how many messages that segment needs room here. */
  private int planned;

  /** Whether the number is known before which the peer ends the lane. */
  boolean hasFin;

  int fin;

  /** How much the peer has sent of the last message if it has not sent all of it; else 0. */
  int cutBytes;

  LaneInbox(int base, long hashSeed) {
    this.hashSeed = hashSeed;
    end = base;
    plannedEnd = base;
  }

  /** Whether nothing is there to be read, to be completed, or to end. */
  boolean isEmpty(int base) {
    return first() == null && end == base && !hasFin;
  }

  // Messages by number

  /** The message with this number; null if nothing of it has arrived, or it is in order. */
  InboundMessage get(int number) {
    int slot = size == 0 ? -1 : slot(number);
    return slot < 0 ? null : messages[slot];
  }

  /** The slot of a number, or the complement of the free slot for it. */
  private int slot(int number) {
    int mask = messages.length - 1;
    int slot = home(number) & mask;
    while (messages[slot] != null) {
      if (numbers[slot] == number) {
        return slot;
      }
      slot = slot + 1 & mask;
    }
    return ~slot;
  }

  /** Where a search for a number begins, modulo the number of slots. */
  private int home(int number) {
    return (int) HashMixer.mix(hashSeed + number);
  }

  /** Sets the message with a number; there is room after {@link #ensureRoom}. */
  void set(int number, InboundMessage message) {
    int slot = slot(number);
    if (slot < 0) {
      slot = ~slot;
      numbers[slot] = number;
      size++;
    }
    messages[slot] = message;
  }

  /** Removes a number that is there. */
  void remove(int number) {
    int mask = messages.length - 1;
    int free = slot(number);
    for (int i = free + 1 & mask; messages[i] != null; i = i + 1 & mask) {
      if ((i - home(numbers[i]) & mask)
          >= (i - free & mask)) { // A search for it would end at the gap.
        messages[free] = messages[i];
        numbers[free] = numbers[i];
        free = i;
      }
    }
    messages[free] = null;
    size--;
  }

  /** Whether a message that begins has to be found by number: others are delivered at once. */
  boolean isNumberNeeded(int base, int number, boolean isFragment) {
    return number != base || end != base || isFragment;
  }

  /** A segment begins the message with a number, of which nothing has arrived. */
  void plan(int base, int number, boolean isFragment) {
    boolean isDeliveredAtOnce = planned == 0 && end == base && number == plannedEnd && !isFragment;
    if (!isDeliveredAtOnce) {
      planned++;
    }
    if (number - plannedEnd >= 0) {
      plannedEnd = number + 1;
    }
  }

  /** Whether another message can be found by number, without more memory. */
  boolean hasRoom() {
    return 2 * (size + 1) <= messages.length;
  }

  /**
   * Makes room for the messages of the segment.
   *
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  void ensureRoomForPlanned() {
    if (planned > 0) {
      ensureRoom(planned);
    }
  }

  private void ensureRoom(int more) {
    if (2 * (size + more) > messages.length) {
      resize(size + more);
    }
  }

  private void resize(int count) {
    int capacity = Math.max(MIN_CAPACITY, Integer.highestOneBit(4 * count - 1));
    InboundMessage[] before = messages;
    int[] numbersBefore = numbers;
    InboundMessage[] resized = new InboundMessage[capacity];
    numbers = new int[capacity];
    messages = resized;
    size = 0;
    for (int i = 0; i < before.length; i++) {
      if (before[i] != null) {
        set(numbersBefore[i], before[i]);
      }
    }
  }

  /** The messages that are found by number. */
  List<InboundMessage> byNumber() {
    return Arrays.stream(messages).filter(Objects::nonNull).toList();
  }

  /** How many slots a search for a number looks at. */
  int slotsSearched(int number) {
    int slot = slot(number);
    return ((slot < 0 ? ~slot : slot) - home(number) & messages.length - 1) + 1;
  }

  /** How many messages it has room for. */
  int capacity() {
    return messages.length / 2;
  }

  /** The segment has been taken in, or not: releases what the lane does not need now. */
  void endSegment() {
    planned = 0;
    plannedEnd = end;
    if (size == 0) {
      messages = NONE;
      numbers = NO_NUMBERS;
    } else if (messages.length > Math.max(MIN_CAPACITY, SPARSE_PART * size)) {
      resize(size);
    }
  }
}
