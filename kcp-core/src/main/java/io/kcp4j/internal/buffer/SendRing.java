package io.kcp4j.internal.buffer;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Segment;
import java.util.Arrays;

/**
 * The segments of a {@code SendBuffer}, queued and in flight: one index for each segment in all
 * arrays. Of segments in flight, the {@code LossDetector} keeps here when and how often they were
 * sent, and {@code DeliveryRate} how much had been delivered then.
 */
public final class SendRing {

  /** The size of an entry of all arrays, without what {@code DeliveryRate} keeps, in bytes. */
  public static final int ENTRY_BYTES = 60;

  /** The size of what it keeps of a segment, in bytes. */
  public static final int DELIVERY_BYTES = 16;

  // What DeliveryRate keeps of the last transmission of a segment, side by side: of times and
  // totals the low bits, so no time may be more than half an hour ago, and no total 2 GB less, when
  // they are read.

  public static final int FIRST_SENT_AT_US = 0;
  public static final int DELIVERED_BYTES = 1;
  public static final int DELIVERED_AT_US = 2;
  public static final int IN_FLIGHT_BYTES = 3;

  /** They begin at the index of the segment, shifted by this. */
  public static final int DELIVERY_SHIFT = 2;

  /** See {@link #isRested}. */
  private static final int REST_MS = 1_000;

  private static final byte ACKNOWLEDGED = 1;
  private static final byte LOST_BY_ACKS = 2;
  private static final byte IN_LARGE_DATAGRAMS = 4;
  private static final byte EXTRA_DUE = 8;
  private static final byte HAS_DELIVERY = 16;
  private static final byte APPLICATION_LIMITED = 32;

  /** The ring of an empty buffer. */
  public static final SendRing NONE = new SendRing(0);

  public final int capacity;
  public final Chunk[] chunks;

  /** The index of the header in its chunk; the payload follows. */
  public final int[] start;

  public final char[] length;
  public final byte[] frg;
  private final byte[] flags;

  /** How often the segment was sent. */
  public final int[] transmissions;

  public final int[] firstTs;
  public final int[] lastTs;
  public final long[] sentAtUs;
  public final int[] rtoUs;

  /** By how much the timeout lies after {@link #sentAtUs}: half the size of a time. */
  private final int[] timesOutAfterUs;

  /** The number of the last transmission, in the order of all transmissions of the session. */
  public final int[] transmissionNumber;

  public final int[] previousTs;
  public final TransmissionOrder.Links links;

  /** Null until a session needs it. It stays, and is charged, in the sessions after it. */
  private int[] deliveries;

  public SendRing(int capacity) {
    this.capacity = capacity;
    chunks = new Chunk[capacity];
    start = new int[capacity];
    length = new char[capacity];
    frg = new byte[capacity];
    flags = new byte[capacity];
    transmissions = new int[capacity];
    firstTs = new int[capacity];
    lastTs = new int[capacity];
    sentAtUs = new long[capacity];
    rtoUs = new int[capacity];
    timesOutAfterUs = new int[capacity];
    transmissionNumber = new int[capacity];
    previousTs = new int[capacity];
    links = new TransmissionOrder.Links(capacity);
  }

  /** Clears what is known of the segment that was at {@code index} before. */
  public void clearFlags(int index) {
    flags[index] = 0;
  }

  /** Whether an ACK has come for the segment at {@code index}. */
  public boolean isAcknowledged(int index) {
    return (flags[index] & ACKNOWLEDGED) != 0;
  }

  public void acknowledge(int index) {
    flags[index] |= ACKNOWLEDGED;
  }

  public void acknowledgeAll() {
    Arrays.fill(flags, ACKNOWLEDGED);
  }

  /** Whether acknowledgements have shown that the last transmission but one was lost. */
  public boolean isLostByAcks(int index) {
    return (flags[index] & LOST_BY_ACKS) != 0;
  }

  public void lostByAcks(int index, boolean isLostByAcks) {
    flag(index, LOST_BY_ACKS, isLostByAcks);
  }

  /**
   * Whether a segment that shares datagrams has been in none so far that every path takes: see
   * {@code BlackHoleDetector}.
   */
  public boolean isInLargeDatagrams(int index) {
    return (flags[index] & IN_LARGE_DATAGRAMS) != 0;
  }

  public void inLargeDatagrams(int index, boolean isLarge) {
    flag(index, IN_LARGE_DATAGRAMS, isLarge);
  }

  private void flag(int index, byte flag, boolean isSet) {
    flags[index] = (byte) (isSet ? flags[index] | flag : flags[index] & ~flag);
  }

  /**
   * Whether the segment at {@code index} was sent last at least a second ago.
   *
   * @param nowTs the timestamp of a segment that is sent now
   */
  public boolean isRested(int index, int nowTs) {
    return nowTs - lastTs[index] >= REST_MS;
  }

  /** Whether the segment at {@code index} is retransmitted next without having timed out. */
  public boolean isExtraDue(int index) {
    return (flags[index] & EXTRA_DUE) != 0;
  }

  public void extraDue(int index, boolean isExtraDue) {
    flag(index, EXTRA_DUE, isExtraDue);
  }

  /** The size of the segment at {@code index}, header and payload, in bytes. */
  public int bytes(int index) {
    return Segment.HEADER_BYTES + length[index];
  }

  /** What {@code DeliveryRate} keeps of all segments; {@link #makeDeliveries} first. */
  public int[] deliveries() {
    return deliveries;
  }

  /** Makes room for it. */
  public void makeDeliveries() {
    if (deliveries == null && capacity > 0) { // NONE is shared.
      deliveries = new int[capacity << DELIVERY_SHIFT];
    }
  }

  /**
   * Makes room for it in a ring in use. From now on, the account is charged for that, too.
   *
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  public void makeDeliveries(MemoryAccount account) {
    int before = chargedBytes();
    makeDeliveries();
    account.chargeToSend(chargedBytes() - before);
  }

  /** Whether {@code DeliveryRate} keeps something of the segment at {@code index}. */
  public boolean hasDelivery(int index) {
    return (flags[index] & HAS_DELIVERY) != 0;
  }

  /** It does from now on. */
  public void delivery(int index, boolean isApplicationLimited) {
    int kept = (flags[index] & ~APPLICATION_LIMITED) | HAS_DELIVERY;
    flags[index] = (byte) (isApplicationLimited ? kept | APPLICATION_LIMITED : kept);
  }

  /** Whether the application was the limit when the segment at {@code index} was sent last. */
  public boolean isApplicationLimited(int index) {
    return (flags[index] & APPLICATION_LIMITED) != 0;
  }

  /** {@code DeliveryRate} ends: it keeps nothing any more. */
  public void dropDeliveries() {
    for (int i = 0; i < capacity; i++) {
      flag(i, HAS_DELIVERY, false);
    }
  }

  /** When the segment at {@code index} times out, in microseconds. */
  public long timesOutAtUs(int index) {
    return sentAtUs[index] + timesOutAfterUs[index];
  }

  /** Sets when it times out, after {@link #sentAtUs}, by at most 35 minutes. */
  public void timesOutAtUs(int index, long timesOutAtUs) {
    timesOutAfterUs[index] = (int) Math.min(timesOutAtUs - sentAtUs[index], Integer.MAX_VALUE);
  }

  /** Copies the fields of segment {@code sn} to another ring, except for the links. */
  public void copyTo(SendRing other, int sn) {
    int from = sn & capacity - 1;
    int to = sn & other.capacity - 1;
    other.chunks[to] = chunks[from];
    other.start[to] = start[from];
    other.length[to] = length[from];
    other.frg[to] = frg[from];
    other.flags[to] = flags[from];
    other.transmissions[to] = transmissions[from];
    other.firstTs[to] = firstTs[from];
    other.lastTs[to] = lastTs[from];
    other.sentAtUs[to] = sentAtUs[from];
    other.rtoUs[to] = rtoUs[from];
    other.timesOutAfterUs[to] = timesOutAfterUs[from];
    other.transmissionNumber[to] = transmissionNumber[from];
    other.previousTs[to] = previousTs[from];
    if (hasDelivery(from)) {
      System.arraycopy(
          deliveries,
          from << DELIVERY_SHIFT,
          other.deliveries(),
          to << DELIVERY_SHIFT,
          1 << DELIVERY_SHIFT);
    }
  }

  /** How much the ring counts against the memory budget, in bytes. */
  public int chargedBytes() {
    int entryBytes = deliveries == null ? ENTRY_BYTES : ENTRY_BYTES + DELIVERY_BYTES;
    return RingPool.chargedBytes(capacity, entryBytes);
  }

  /**
   * A larger ring, for {@code segments}. From now on, the account is charged for the larger one.
   *
   * @param hasDeliveries whether {@code DeliveryRate} needs it
   * @throws OutOfMemoryError if there is no memory; nothing has changed then
   */
  public SendRing larger(
      int segments, boolean hasDeliveries, MemoryAccount account, RingPool<SendRing> pool) {
    SendRing larger = pool.take(segments);
    if (hasDeliveries) {
      larger.makeDeliveries();
    }
    account.chargeToSend(larger.chargedBytes() - chargedBytes());
    return larger;
  }

  /** Returns the ring to the pool that it was taken from. */
  public void giveBack(RingPool<SendRing> pool) {
    Arrays.fill(chunks, null);
    pool.giveBack(this, capacity);
  }
}
