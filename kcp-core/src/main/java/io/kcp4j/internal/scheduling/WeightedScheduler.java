package io.kcp4j.internal.scheduling;

import java.util.Arrays;

/**
 * Chooses who sends next: the entry with the lowest priority number; among those of the same
 * priority, in proportion to their weights; among those of the same weight, in turn.
 *
 * <p>Within a priority this is start-time fair queueing (Goyal, Vin, Cheng, 1996). Each entry has a
 * start tag, which grows by bytes / weight with what the entry sends; the lowest is next. The start
 * tag of the entry that sent last is the virtual time. An entry that is added starts at the virtual
 * time, or at its own tag if that is later: so nothing is saved up while it has nothing to send. In
 * contrast to deficit round robin, it does not wait for a turn of all others: among equal start
 * tags it is next, after the current frame.
 *
 * <p>A start tag grows at the end of a turn, which is so many bytes, or ends when the entry is
 * removed. Long turns leave consecutive frames of an entry together.
 *
 * <p>{@link #peek} takes constant time, everything else the logarithm of the number of entries.
 * Used by one thread.
 *
 * @param <T> what entries stand for
 */
public final class WeightedScheduler<T> {

  /** The number of priorities: 0, which is served first, to 7, as the urgency of RFC 9218. */
  public static final int PRIORITIES = 8;

  /** The largest weight; the smallest is 1. */
  public static final int MAX_WEIGHT = 256;

  /** Virtual time for a byte at weight 1; at other weights, it is divided by the weight. */
  private static final int SCALE = 1 << 20;

  private static final int NOT_QUEUED = -1;

  /**
   * One that sends. Belongs to at most one scheduler at a time.
   *
   * @param <T> what the entry stands for
   */
  public static final class Entry<T> {

    private final T value;
    private int priority;
    private int weight;

    /** The virtual time of a byte; divided once, as a division takes long. */
    private int byteTime;

    private long start;

    /** What the entry has sent in this turn. */
    private long turnBytes;

    /** Whether it has sent nothing since it was added: of equal start tags, this one is next. */
    private boolean isNew;

    /** Decides between others of equal start tags: the one that waits longer is next. */
    private long order;

    private int index = NOT_QUEUED;

    /** Makes an entry that is in no scheduler. */
    public Entry(T value, int priority, int weight) {
      this.value = value;
      this.priority = priority;
      weigh(weight);
    }

    private void weigh(int weight) {
      this.weight = weight;
      byteTime = SCALE / weight;
    }

    /** The priority. */
    public int priority() {
      return priority;
    }

    /** The weight. */
    public int weight() {
      return weight;
    }

    /** Whether the entry is in the scheduler. */
    public boolean isQueued() {
      return index != NOT_QUEUED;
    }
  }

  private static final int MIN_CAPACITY = 4;

  /** A heap of this capacity is kept when it is empty. */
  private static final int KEPT_CAPACITY = 64;

  private final int maxTurnBytes;

  /** A binary heap. */
  private Object[] heap = new Object[MIN_CAPACITY];

  private int size;
  private long orders;

  /** The virtual time of each priority. */
  private final long[] nowOf = new long[PRIORITIES];

  /**
   * Makes an empty scheduler.
   *
   * @param maxTurnBytes how much an entry sends before the others have a turn, at least 1. A frame
   *     may exceed it
   */
  public WeightedScheduler(int maxTurnBytes) {
    this.maxTurnBytes = maxTurnBytes;
  }

  /** How many entries are queued. */
  public int size() {
    return size;
  }

  /** The one that sends next, or null if there is none. */
  public T peek() {
    return size == 0 ? null : at(0).value;
  }

  /** Adds an entry that has something to send. Without effect if it is queued. */
  public void add(Entry<T> entry) {
    if (entry.isQueued()) {
      return;
    }
    if (size == heap.length) {
      heap = Arrays.copyOf(heap, 2 * size);
    }
    long now = nowOf[entry.priority];
    if (entry.start - now < 0) {
      entry.start = now;
    }
    entry.isNew = true;
    entry.order = orders++;
    moveUp(entry, size++);
  }

  /** Removes an entry, which keeps its place in virtual time. Without effect if not queued. */
  public void remove(Entry<T> entry) {
    int index = entry.index;
    if (index == NOT_QUEUED) {
      return;
    }
    entry.index = NOT_QUEUED;
    endTurn(entry);
    Entry<T> last = at(--size);
    heap[size] = null;
    if (last != entry) {
      place(last, index);
    }
    if (size == 0 && heap.length > KEPT_CAPACITY) {
      heap = new Object[MIN_CAPACITY];
    }
  }

  /** An entry has sent so many bytes. */
  public void charge(Entry<T> entry, int bytes) {
    int priority = entry.priority;
    if (entry.start - nowOf[priority] > 0) {
      nowOf[priority] = entry.start;
    }
    entry.isNew = false;
    entry.turnBytes += bytes;
    if (entry.turnBytes >= maxTurnBytes || !entry.isQueued()) {
      endTurn(entry);
    }
    if (entry.isQueued()) {
      moveDown(entry, entry.index);
    }
  }

  /** An entry has sent several frames in a row, of so many bytes each. */
  public void charge(Entry<T> entry, int frames, int frameBytes) {
    if (frames > 1) {
      charge(entry, (frames - 1) * frameBytes);
    }
    charge(entry, frameBytes); // The virtual time is the beginning of the last frame.
  }

  private void endTurn(Entry<T> entry) {
    entry.start += entry.turnBytes * entry.byteTime;
    entry.turnBytes = 0;
    entry.order = orders++;
  }

  /**
   * Changes priority and weight of an entry, queued or not.
   *
   * @throws IllegalArgumentException if one is out of range
   */
  public void classify(Entry<T> entry, int priority, int weight) {
    checkRange("priority", priority, 0, PRIORITIES - 1);
    checkRange("weight", weight, 1, MAX_WEIGHT);
    if (entry.turnBytes > 0) { // They count with the weight that they were sent with.
      endTurn(entry);
      moveDown(entry, entry.index);
    }
    entry.weigh(weight);
    if (priority == entry.priority) {
      return;
    }
    boolean wasQueued = entry.isQueued();
    remove(entry);
    entry.priority = priority;
    entry.start = nowOf[priority];
    if (wasQueued) {
      add(entry);
    }
  }

  private static void checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  @SuppressWarnings("unchecked") // only entries are put in
  private Entry<T> at(int index) {
    return (Entry<T>) heap[index];
  }

  private void place(Entry<T> entry, int index) {
    if (index > 0 && isBefore(entry, at((index - 1) / 2))) {
      moveUp(entry, index);
    } else {
      moveDown(entry, index);
    }
  }

  private void moveUp(Entry<T> entry, int from) {
    int index = from;
    while (index > 0) {
      int parent = (index - 1) / 2;
      if (!isBefore(entry, at(parent))) {
        break;
      }
      put(at(parent), index);
      index = parent;
    }
    put(entry, index);
  }

  private void moveDown(Entry<T> entry, int from) {
    int index = from;
    while (true) {
      int child = 2 * index + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && isBefore(at(child + 1), at(child))) {
        child++;
      }
      if (!isBefore(at(child), entry)) {
        break;
      }
      put(at(child), index);
      index = child;
    }
    put(entry, index);
  }

  private void put(Entry<T> entry, int index) {
    heap[index] = entry;
    entry.index = index;
  }

  /** Tags and orders compare by difference. */
  private static boolean isBefore(Entry<?> a, Entry<?> b) {
    if (a.priority != b.priority) {
      return a.priority < b.priority;
    }
    if (a.start != b.start) {
      return a.start - b.start < 0;
    }
    return a.isNew == b.isNew ? a.order - b.order < 0 : a.isNew;
  }
}
