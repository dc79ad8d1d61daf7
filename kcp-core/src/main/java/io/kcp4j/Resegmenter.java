package io.kcp4j;

/** Copies the queue of a {@link SendBuffer} into segments of another size. */
final class Resegmenter {

  private Resegmenter() {}

  /**
   * Queues the bytes of all queued segments once more, behind them, as segments of {@code
   * mssBytes}, the last of which may be shorter.
   *
   * @throws OutOfMemoryError if there is no memory; some segments have been queued then
   */
  static void appendCopy(SendBuffer buffer, int mssBytes) {
    int left = 0;
    for (int sn = buffer.next(), end = sn + buffer.queued(); sn != end; sn++) {
      left += payloadBytes(buffer, sn);
    }
    int from = buffer.next();
    int taken = 0;
    for (int bytes; left > 0; left -= bytes) {
      bytes = Math.min(mssBytes, left);
      Chunk chunk = buffer.reserve(bytes, left);
      int payload = chunk.end() + Segment.HEADER_BYTES;
      for (int at = 0, part; at < bytes; at += part) {
        int available = payloadBytes(buffer, from) - taken;
        part = Math.min(bytes - at, available);
        int i = buffer.index(from);
        int source = buffer.start(i) + Segment.HEADER_BYTES + taken;
        chunk.set(payload + at, buffer.chunk(i), source, part);
        taken += part;
        if (part == available) {
          from++;
          taken = 0;
        }
      }
      buffer.queue(chunk, bytes, 0);
    }
  }

  private static int payloadBytes(SendBuffer buffer, int sn) {
    return buffer.bytes(buffer.index(sn)) - Segment.HEADER_BYTES;
  }
}
