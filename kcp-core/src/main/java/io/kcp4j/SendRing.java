package io.kcp4j;

import java.util.Arrays;

/** The arrays of a {@link SendBuffer} and its {@link LossDetector}: one index for each segment. */
final class SendRing {

  /** The size of an entry of all arrays, in bytes. */
  static final int ENTRY_BYTES = 65;

  /** The ring of an empty buffer. */
  static final SendRing NONE = new SendRing(0);

  final int capacity;
  final Chunk[] chunks;

  /** The index of the header in its chunk; the payload follows. */
  final int[] start;

  final char[] length;
  final byte[] frg;
  final boolean[] acknowledged;
  final int[] transmissions;
  final int[] firstTs;
  final int[] lastTs;
  final long[] sentAtUs;
  final int[] rtoUs;
  final long[] retransmitAtUs;
  final int[] transmission;
  final int[] previousTs;
  final boolean[] lostByAcks;
  final TransmissionOrder.Links links;

  SendRing(int capacity) {
    this.capacity = capacity;
    chunks = new Chunk[capacity];
    start = new int[capacity];
    length = new char[capacity];
    frg = new byte[capacity];
    acknowledged = new boolean[capacity];
    transmissions = new int[capacity];
    firstTs = new int[capacity];
    lastTs = new int[capacity];
    sentAtUs = new long[capacity];
    rtoUs = new int[capacity];
    retransmitAtUs = new long[capacity];
    transmission = new int[capacity];
    previousTs = new int[capacity];
    lostByAcks = new boolean[capacity];
    links = new TransmissionOrder.Links(capacity);
  }

  /** Copies the fields of segment {@code sn} to another ring, except for the links. */
  void copyTo(SendRing other, int sn) {
    int from = sn & capacity - 1;
    int to = sn & other.capacity - 1;
    other.chunks[to] = chunks[from];
    other.start[to] = start[from];
    other.length[to] = length[from];
    other.frg[to] = frg[from];
    other.acknowledged[to] = acknowledged[from];
    other.transmissions[to] = transmissions[from];
    other.firstTs[to] = firstTs[from];
    other.lastTs[to] = lastTs[from];
    other.sentAtUs[to] = sentAtUs[from];
    other.rtoUs[to] = rtoUs[from];
    other.retransmitAtUs[to] = retransmitAtUs[from];
    other.transmission[to] = transmission[from];
    other.previousTs[to] = previousTs[from];
    other.lostByAcks[to] = lostByAcks[from];
  }

  /** Returns the ring to the pool that it was taken from. */
  void giveBack(RingPool<SendRing> pool) {
    Arrays.fill(chunks, null);
    pool.giveBack(this, capacity);
  }
}
