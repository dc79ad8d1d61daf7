package io.kcp4j.internal.receive;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Time;
import java.util.Arrays;

/**
 * The acknowledgements that wait for the next flush: protocol.md 3.2. Of the segments that arrived
 * in order only the newest has an ACK of its own, for its timestamp; {@code una} acknowledges the
 * others. Segments beyond a gap have one each, but only one between two flushes however often they
 * arrive.
 *
 * <p>The list of the latter is released when the gap has closed.
 *
 * <p>On a lossy path, ACKs leave once more with a flush that follows: there, a lost ACK is as
 * likely as a lost segment, and the peer cannot tell them apart. Those beyond a gap leave a third
 * time, together with the ACKs of the next segments: without them, these would show the peer a
 * loss. A flush with ACKs of duplicates is not repeated: a flood of duplicates would be answered
 * three times. Nor is the ACK of a datagram that comes alone: to lose it costs the peer one
 * retransmission, and to repeat it would cost a datagram each time.
 */
public final class PendingAcks {

  private static final int[] EMPTY = {};

  /** A list of this capacity is kept and does not count against the memory budget. */
  private static final int MIN_CAPACITY = 8;

  private static final int ENTRY_BYTES = 8;

  /** At most so many datagrams with new segments between two flushes are thin traffic. */
  private static final int THIN_DATAGRAMS = 16;

  /**
   * Of at most so many, ACKs are repeated: behind a gap, the writes of many ticks leave at once.
   */
  private static final int REPEATED_DATAGRAMS = 64;

  /** A datagram comes alone if the last ACKs left longer ago. */
  private static final int ALONE_US = 60_000;

  /** ACKs leave again after a millisecond at least: sooner, one burst of losses takes both. */
  private static final int MIN_REPEAT_US = Time.US_PER_MS;

  private final MemoryAccount account;

  private int[] sns = EMPTY;
  private int[] tss = EMPTY;
  private int count;
  private boolean pending;
  private int newestSn;
  private int newestTs;
  private int arrivals;
  private int datagrams;
  private int datagramsBefore;

  /** The arrivals at the end of the last datagram. */
  private int arrivalsCounted;

  private boolean atGap;

  /** Whether ACKs of duplicates are listed. */
  private boolean listsDuplicates;

  /** How many listed ACKs have been written, and are kept to be written again. */
  private int written;

  /** How many of these, the oldest ones, have been written twice. */
  private int writtenTwice;

  private boolean repeatPending;

  /** When the oldest of what is to be written again was written. */
  private long writtenAtUs;

  /** When ACKs left last. */
  private long flushedAtUs = Long.MAX_VALUE;

  PendingAcks(MemoryAccount account) {
    this.account = account;
  }

  /** Whether there is anything to acknowledge, for the first time or again. */
  public boolean isPending() {
    return pending || repeatPending;
  }

  /** How many segments arrived since the last flush, without duplicates. */
  int arrivals() {
    return arrivals;
  }

  /** Whether one of them arrived beyond a gap, or closed one. */
  boolean isAtGap() {
    return atGap;
  }

  /** Whether few datagrams bring new segments: since the last flush, and before it. */
  public boolean isThin() {
    return areDatagramsAtMost(THIN_DATAGRAMS);
  }

  private boolean areDatagramsAtMost(int most) {
    return datagrams <= most && datagramsBefore <= most;
  }

  /**
   * A datagram has been taken in.
   *
   * @return whether it brought a new segment
   */
  boolean endDatagram() {
    boolean isNew = arrivals != arrivalsCounted;
    if (isNew) {
      arrivalsCounted = arrivals;
      datagrams++;
    }
    return isNew;
  }

  /**
   * Makes room for the ACK of one more segment beyond a gap, so that adding it cannot fail.
   *
   * @return false if the memory budget has no room
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  boolean ensureRoom() {
    if (count < sns.length) {
      return true;
    }
    int capacity = Math.max(MIN_CAPACITY, 2 * count);
    int more = chargedBytes(capacity) - heldBytes();
    if (!account.tryReserveBeyondGap(more)) {
      return false;
    }
    try {
      int[] largerTss = Arrays.copyOf(tss, capacity);
      sns = Arrays.copyOf(sns, capacity);
      tss = largerTss;
      return true;
    } catch (OutOfMemoryError e) {
      account.release(more);
      throw e;
    }
  }

  private static int chargedBytes(int capacity) {
    return capacity <= MIN_CAPACITY ? 0 : capacity * ENTRY_BYTES;
  }

  /** How much is counted against the memory budget, in bytes. */
  int heldBytes() {
    return chargedBytes(sns.length);
  }

  /**
   * The gap has closed: {@code una} acknowledges all listed segments. Releases the list if it is
   * larger than the smallest.
   */
  void gapClosed() {
    count = 0;
    written = 0;
    writtenTwice = 0;
    if (sns.length > MIN_CAPACITY) {
      account.release(heldBytes());
      sns = EMPTY;
      tss = EMPTY;
    }
  }

  /** A new segment arrived in order. */
  void addInOrder(int sn, int ts) {
    arrivals++;
    newest(sn, ts);
  }

  /** A new segment arrived in order, beyond which others have arrived before. */
  void addBeforeOthers(int sn, int ts) {
    addInOrder(sn, ts);
    atGap = true;
  }

  /** A new segment arrived beyond a gap; there is room for it. */
  void addBeyondGap(int sn, int ts) {
    arrivals++;
    atGap = true;
    newest(sn, ts);
    list(sn, ts);
  }

  /**
   * A duplicate of a segment beyond a gap arrived, whose ACK has been sent since; there is room for
   * another.
   */
  void addDuplicateBeyondGap(int sn, int ts) {
    listsDuplicates = true;
    newest(sn, ts);
    list(sn, ts);
  }

  /** A duplicate arrived of a segment that {@code una} acknowledges. */
  void addDuplicate(int sn, int ts) {
    if (!pending) { // Else replayed segments could prevent the peer's RTT samples.
      newest(sn, ts);
    }
  }

  private void newest(int sn, int ts) {
    pending = true;
    newestSn = sn;
    newestTs = ts;
  }

  private void list(int sn, int ts) {
    sns[count] = sn;
    tss[count++] = ts;
  }

  /**
   * Writes all pending ACKs.
   *
   * @param isLossy whether to write them again with later flushes, if they are few
   */
  void flush(int rcvNext, boolean isLossy, long nowUs, Output out) {
    boolean repeats = repeatPending && nowUs - writtenAtUs >= MIN_REPEAT_US;
    if (!pending && !repeats) {
      return;
    }
    if (pending) {
      write(0, writtenTwice, rcvNext, out);
    }
    if (repeats) {
      write(writtenTwice, written, rcvNext, out);
    }
    write(written, count, rcvNext, out);
    if (newestSn - rcvNext < 0) {
      out.ack(newestTs, newestSn);
    }
    boolean isAlone = datagrams <= 1 && nowUs - flushedAtUs > ALONE_US;
    flushedAtUs = nowUs;
    if (isLossy && !isAlone && !listsDuplicates && areDatagramsAtMost(REPEATED_DATAGRAMS)) {
      keepForRepetition(repeats, nowUs);
    } else {
      dropListed(count);
      writtenTwice = 0;
      repeatPending = false;
    }
    written = count;
    pending = false;
    datagramsBefore = datagrams;
    datagrams = 0;
    arrivals = 0;
    arrivalsCounted = 0;
    atGap = false;
    listsDuplicates = false;
  }

  private void write(int from, int to, int rcvNext, Output out) {
    for (int i = from; i < to; i++) {
      if (sns[i] - rcvNext >= 0) {
        out.ack(tss[i], sns[i]);
      }
    }
  }

  /**
   * Keeps what has been written less than three times.
   *
   * @param repeats whether this flush has written for the second time what was written once
   */
  private void keepForRepetition(boolean repeats, long nowUs) {
    if (pending) {
      dropListed(writtenTwice);
      written -= writtenTwice;
      writtenTwice = 0;
    }
    if (repeats || !repeatPending) {
      writtenTwice = written;
      repeatPending = pending;
      writtenAtUs = nowUs;
    }
  }

  /** Drops the oldest entries of the list. */
  private void dropListed(int entries) {
    count -= entries;
    System.arraycopy(sns, entries, sns, 0, count);
    System.arraycopy(tss, entries, tss, 0, count);
  }

  /** Writes acknowledgements into the datagrams of a flush. */
  public interface Output {

    /** Acknowledges the segment {@code sn}, which has arrived with the timestamp {@code ts}. */
    void ack(int ts, int sn);
  }
}
