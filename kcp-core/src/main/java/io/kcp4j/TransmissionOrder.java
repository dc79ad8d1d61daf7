package io.kcp4j;

import java.util.Arrays;

/**
 * The unacknowledged segments in the order of their last transmission, and how often each has been
 * passed over: how many acknowledgements came for segments that were sent after it.
 *
 * <p>kcp-go walks its whole send buffer for every ACK to count this. Here an acknowledgement costs
 * the same at any window: it passes over a prefix of the list, so the counts never rise from head
 * to tail, and only differences are kept. {@code passed[i]} is what entry i counts more than its
 * successor; the count of the head is their sum. Whatever is lost is found at the head.
 *
 * <p>Entries are the ring indices of {@link SendBuffer}.
 */
final class TransmissionOrder {

  static final int NONE = -1;

  /** Where the {@link #cursor} is when all entries are behind it but those appended since. */
  private static final int END = -2;

  private static final Links NO_LINKS = new Links(0);

  /** What is kept of each entry; it belongs to the ring. */
  static final class Links {

    private final int[] previous;
    private final int[] next;
    private final int[] passed;

    Links(int capacity) {
      previous = new int[capacity];
      next = new int[capacity];
      passed = new int[capacity];
    }
  }

  private int[] previous = NO_LINKS.previous;
  private int[] next = NO_LINKS.next;
  private int[] passed = NO_LINKS.passed;
  private int head = NONE;
  private int tail = NONE;
  private int headSkipCount;
  private int size;
  private int cursor = NONE;
  private long visits;

  int size() {
    return size;
  }

  /** The entry that was transmitted longest ago, or {@link #NONE}. */
  int head() {
    return head;
  }

  /** The entry that was transmitted last, or {@link #NONE}. */
  int tail() {
    return tail;
  }

  /** The entry transmitted after {@code entry}, or {@link #NONE}. */
  int next(int entry) {
    visits++;
    return next[entry];
  }

  /** How often {@link #next} has been called: what walks have cost. For tests. */
  long visits() {
    return visits;
  }

  /**
   * The entry at which an interrupted walk goes on, {@link #NONE} if it has to begin anew, or what
   * {@link #isCursorAtEnd} tells. It follows when entries leave the list.
   */
  int cursor() {
    return cursor;
  }

  /** Whether nothing is left of the walk but entries that were appended after it got there. */
  boolean isCursorAtEnd() {
    return cursor == END;
  }

  /** Notes where a walk is interrupted: at an entry, or {@link #NONE}. */
  void cursor(int entry) {
    cursor = entry;
  }

  /** How often the head has been passed over; no entry more often. */
  int headSkipCount() {
    return headSkipCount;
  }

  /** {@code entry}, not in the list, has just been transmitted. */
  void append(int entry) {
    previous[entry] = tail;
    next[entry] = NONE;
    passed[entry] = 0;
    if (tail == NONE) {
      head = entry;
    } else {
      next[tail] = entry;
    }
    tail = entry;
    size++;
  }

  /**
   * The last transmission of {@code entry} has arrived: everything sent before it is passed over.
   */
  void countSkippedBefore(int entry) {
    int before = previous[entry];
    if (before != NONE) {
      passed[before]++;
      headSkipCount++;
    }
  }

  void remove(int entry) {
    int before = previous[entry];
    int after = next[entry];
    if (entry == cursor) {
      cursor = after == NONE ? END : after;
    }
    if (before == NONE) {
      head = after;
      headSkipCount -= passed[entry];
    } else {
      next[before] = after;
      passed[before] += passed[entry];
    }
    if (after == NONE) {
      tail = before;
    } else {
      previous[after] = before;
    }
    size--;
  }

  /** Makes an empty list with room for the entries that {@code links} has. */
  private void reset(Links links) {
    previous = links.previous;
    next = links.next;
    passed = links.passed;
    head = NONE;
    tail = NONE;
    headSkipCount = 0;
    size = 0;
    cursor = NONE;
  }

  /**
   * Follows a ring that has grown.
   *
   * @param una a sequence number not above any in the list
   * @param oldMask the mask under which the entries were named
   * @param newMask the mask under which they are named from now on
   * @param links room for so many entries, which is the list's from now on
   */
  void grow(int una, int oldMask, int newMask, Links links) {
    int[] oldNext = next;
    int[] oldPassed = passed;
    int entry = head;
    int counted = headSkipCount;
    reset(links);
    for (; entry != NONE; entry = oldNext[entry]) {
      int sn = una + (entry - una & oldMask);
      append(sn & newMask);
      passed[tail] = oldPassed[entry];
    }
    headSkipCount = counted;
  }

  void clear() {
    reset(NO_LINKS);
  }

  @Override
  public String toString() {
    int[] order = new int[size];
    int n = 0;
    for (int entry = head; entry != NONE; entry = next[entry]) {
      order[n++] = entry;
    }
    return Arrays.toString(order);
  }
}
