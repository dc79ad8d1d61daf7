package io.kcp4j.internal.buffer;

import java.util.Arrays;

/**
 * The unacknowledged segments in the order of their last transmission, and the skip count of each:
 * how many acknowledgements have come for segments that were sent after it.
 *
 * <p>kcp-go walks its whole send buffer for every ACK to count them. Here an acknowledgement costs
 * the same at any window: it skips a prefix of the list, so the counts never rise from head to
 * tail, and only differences are kept. {@code links.skips[i]} is how much the count of entry i
 * exceeds that of its successor; the count of the head is the sum of all. The head is the first
 * fast retransmit candidate.
 *
 * <p>Entries are the ring indices of {@code SendBuffer}.
 */
public final class TransmissionOrder {

  public static final int NONE = -1;

  /** Where the {@link #cursor} is when all entries are behind it but those appended since. */
  private static final int END = -2;

  private static final Links NO_LINKS = new Links(0);

  /** The fields of all entries, which belong to the ring. */
  static final class Links {

    private final int[] previous;
    private final int[] next;
    private final int[] skips;

    Links(int capacity) {
      previous = new int[capacity];
      next = new int[capacity];
      skips = new int[capacity];
    }
  }

  private Links links = NO_LINKS;
  private int head = NONE;
  private int tail = NONE;
  private int headSkipCount;
  private int size;
  private int cursor = NONE;
  private int visits;

  public int size() {
    return size;
  }

  /** The entry that was transmitted longest ago, or {@link #NONE}. */
  public int head() {
    return head;
  }

  /** The entry that was transmitted last, or {@link #NONE}. */
  public int tail() {
    return tail;
  }

  /** The entry transmitted after {@code entry}, or {@link #NONE}. */
  public int next(int entry) {
    visits++;
    return links.next[entry];
  }

  /** The entry transmitted before {@code entry}, or {@link #NONE}. */
  public int previous(int entry) {
    return links.previous[entry];
  }

  /** How often {@link #next} has been called: the cost of all walks. For tests. */
  public int visits() {
    return visits;
  }

  /**
   * The entry at which an interrupted walk resumes, {@link #NONE} if it has to start again, or
   * another negative value if {@link #isCursorAtEnd}. Moves on when its entry leaves the list.
   */
  public int cursor() {
    return cursor;
  }

  /** Whether only entries are left of the walk that were appended after it had reached the end. */
  public boolean isCursorAtEnd() {
    return cursor == END;
  }

  /** Sets where a walk is interrupted: at an entry, or {@link #NONE}. */
  public void cursor(int entry) {
    cursor = entry;
  }

  /** The skip count of the head; that of no entry is greater. */
  public int headSkipCount() {
    return headSkipCount;
  }

  /** Appends {@code entry}, which is not in the list and is being transmitted. */
  public void append(int entry) {
    append(entry, entry + 1);
  }

  /**
   * Appends the entries {@code from} up to, but not including, {@code to}, none of which is in the
   * list and which are being transmitted in this order.
   */
  public void append(int from, int to) {
    for (int i = from; i < to; i++) {
      links.previous[i] = i - 1;
      links.next[i] = i + 1;
      links.skips[i] = 0;
    }
    links.previous[from] = tail;
    links.next[to - 1] = NONE;
    if (tail == NONE) {
      head = from;
    } else {
      links.next[tail] = from;
    }
    tail = to - 1;
    size += to - from;
  }

  /** Counts a skip of all entries before {@code entry}, whose last transmission has arrived. */
  public void countSkippedBefore(int entry) {
    int before = links.previous[entry];
    if (before != NONE) {
      links.skips[before]++;
      headSkipCount++;
    }
  }

  public void remove(int entry) {
    int before = links.previous[entry];
    int after = links.next[entry];
    if (entry == cursor) {
      cursor = after == NONE ? END : after;
    }
    if (headSkipCount != 0) { // Else none has been skipped.
      dropSkips(entry, before);
    }
    if (before == NONE) {
      head = after;
    } else {
      links.next[before] = after;
    }
    if (after == NONE) {
      tail = before;
    } else {
      links.previous[after] = before;
    }
    size--;
  }

  private void dropSkips(int entry, int before) {
    if (before == NONE) {
      headSkipCount -= links.skips[entry];
    } else {
      links.skips[before] += links.skips[entry];
    }
  }

  /** Makes the list empty, with room for the entries of {@code links}. */
  private void reset(Links links) {
    this.links = links;
    head = NONE;
    tail = NONE;
    headSkipCount = 0;
    size = 0;
    cursor = NONE;
  }

  /**
   * Renames all entries after the ring has grown.
   *
   * @param una a sequence number not above any in the list
   * @param oldMask the mask of the old ring
   * @param newMask the mask of the new ring
   * @param links the fields of the entries of the new ring
   */
  public void grow(int una, int oldMask, int newMask, Links links) {
    Links old = this.links;
    int entry = head;
    int counted = headSkipCount;
    int interruptedAt = cursor;
    reset(links);
    if (interruptedAt == END) {
      cursor = END;
    }
    for (; entry != NONE; entry = old.next[entry]) {
      int sn = una + (entry - una & oldMask);
      append(sn & newMask);
      links.skips[tail] = old.skips[entry];
      if (entry == interruptedAt) {
        cursor = tail;
      }
    }
    headSkipCount = counted;
  }

  public void clear() {
    reset(NO_LINKS);
  }

  @Override
  public String toString() {
    int[] order = new int[size];
    int n = 0;
    for (int entry = head; entry != NONE; entry = links.next[entry]) {
      order[n++] = entry;
    }
    return Arrays.toString(order);
  }
}
