package io.kcp4j;

/**
 * The contiguous datagrams in a chunk that a flush passes to its output as one run, once the run
 * cannot continue. Part of the {@link SegmentWriter}.
 */
@SuppressWarnings("ReferenceEquality") // chunks are compared by identity
final class DatagramRun {

  /** The chunk of the run; null if there is none. */
  private Chunk chunk;

  private int index;
  private int bytes;
  private int datagramBytes;

  /**
   * Adds datagrams of {@code bytesEach}, after the run has been sent that they do not continue.
   *
   * @param bytes those of all of them
   */
  void add(Chunk from, int at, int bytes, int bytesEach, DatagramOutput output) {
    boolean fits = bytesEach == datagramBytes || (bytesEach < datagramBytes && bytes == bytesEach);
    boolean continued = chunk == from && index + this.bytes == at && fits;
    if (!continued) {
      send(output);
      chunk = from;
      index = at;
      this.bytes = 0;
      datagramBytes = bytesEach;
    }
    this.bytes += bytes;
    if (bytesEach < datagramBytes) {
      send(output); // Only the last datagram of a run may be shorter.
    }
  }

  /** Passes the run to the output, if there is one. */
  void send(DatagramOutput output) {
    if (chunk != null) {
      Chunk from = chunk;
      chunk = null;
      output.send(from.memory(), index, bytes, datagramBytes);
    }
  }

  /** The bytes of the run, with what the layers below add to each datagram. */
  int packetBytes(int overheadBytes) {
    return chunk == null ? 0 : bytes + bytes / datagramBytes * overheadBytes;
  }

  /** Forgets the run. */
  void discard() {
    chunk = null;
  }
}
