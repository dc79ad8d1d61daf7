package io.kcp4j;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.LongSupplier;

/**
 * The share of a {@link MemoryLimit} for peers that have not proven their address, of all event
 * loops: protocol.md 8.12. The system delivers all packets of an address to one socket, and a table
 * makes room by ending its own sessions only. So half of the share is divided into equal parts, one
 * for each event loop, which no other may use. All event loops may use the other half. Thread-safe.
 */
final class UnvalidatedShare {

  /** Room for two sessions, even if that leaves less than half for all. */
  private static final int MIN_PART_BYTES = 16 * 1024;

  private final long bytes;

  /** What each event loop uses, in bytes. */
  private final AtomicReference<LongSupplier[]> usedBytes =
      new AtomicReference<>(new LongSupplier[0]);

  UnvalidatedShare(long bytes) {
    this.bytes = bytes;
  }

  /** The size of the share, in bytes; 0 if there is none. */
  long bytes() {
    return bytes;
  }

  /**
   * Adds an event loop.
   *
   * @param added what it uses, in bytes, read from any thread
   */
  void add(LongSupplier added) {
    usedBytes.updateAndGet(
        before -> {
          LongSupplier[] after = Arrays.copyOf(before, before.length + 1);
          after[before.length] = added;
          return after;
        });
  }

  private int loops() {
    return usedBytes.get().length;
  }

  /** The part of each event loop that no other may use, in bytes. */
  private long partBytes() {
    int loops = loops();
    return Math.max(bytes / 2 / loops, Math.min(MIN_PART_BYTES, bytes / loops));
  }

  /** The most that an event loop may use, in bytes. */
  long mostBytes() {
    return bytes - (loops() - 1) * partBytes();
  }

  /**
   * What is left for an event loop, in bytes; below 0 if it uses more than it may.
   *
   * @param ownBytes what it uses
   */
  long roomBytes(long ownBytes) {
    long partBytes = partBytes();
    return Math.max(partBytes - ownBytes, mostBytes() - ownBytes - othersBeyondBytes(ownBytes));
  }

  /**
   * What is left for memory that is not counted in the share, in bytes: the rest of the event
   * loop's own part, and an equal part of what is left for all. All event loops together do not
   * exceed the share by that.
   */
  long equalRoomBytes(long ownBytes) {
    long ownRoomBytes = partBytes() - ownBytes;
    long commonRoomBytes = roomBytes(ownBytes) - Math.max(0, ownRoomBytes);
    return Math.max(0, ownRoomBytes) + commonRoomBytes / loops();
  }

  /** What the other event loops use beyond their parts, in bytes. */
  private long othersBeyondBytes(long ownBytes) {
    long partBytes = partBytes();
    long beyondBytes = -Math.max(0, ownBytes - partBytes);
    for (LongSupplier used : usedBytes.get()) {
      beyondBytes += Math.max(0, used.getAsLong() - partBytes);
    }
    return beyondBytes;
  }
}
