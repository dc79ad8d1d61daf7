package io.kcp4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * The memory limit of what all sessions of an endpoint hold together. Memory counts by capacity,
 * not by content, so that many tiny segments cannot exceed the limit. Used by one thread; other
 * threads may read the usage.
 *
 * <p>Segments written and not acknowledged have a share of their own, half of the limit, so that
 * peers that take nothing cannot use up the other half, which is for receiving. Data in order may
 * use all that sending leaves; data beyond a gap three quarters of that, and data that only spares
 * a retransmission, half.
 *
 * <p>The limit can be exceeded by the minimum that every session may always queue: one segment, or
 * in message mode one message, of each session that has nothing else to send.
 */
public final class MemoryBudget {

  /** For readers on other threads. */
  private static final VarHandle USED_BYTES = field("usedBytes");

  private static final VarHandle SEND_BYTES = field("sendBytes");

  private final long limitBytes;
  private long usedBytes;

  /** The part of {@link #usedBytes} that sending holds. */
  private long sendBytes;

  /**
   * Makes a budget.
   *
   * @param limitBytes the limit, in bytes, at least 1
   */
  public MemoryBudget(long limitBytes) {
    if (limitBytes < 1) {
      throw new IllegalArgumentException("limitBytes: " + limitBytes + " (expected: >= 1)");
    }
    this.limitBytes = limitBytes;
  }

  private static VarHandle field(String name) {
    try {
      return MethodHandles.lookup().findVarHandle(MemoryBudget.class, name, long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** A budget without a limit; it still counts. */
  public static MemoryBudget unlimited() {
    return new MemoryBudget(Long.MAX_VALUE);
  }

  /** The limit, in bytes. */
  public long limitBytes() {
    return limitBytes;
  }

  /**
   * The memory held now, in bytes. Exceeds the limit at most by a segment or a message of each
   * session that sends. Other threads may call this, too; they may see a value that is a little
   * old.
   */
  public long usedBytes() {
    return (long) USED_BYTES.getOpaque(this);
  }

  /**
   * The part of {@link #usedBytes()} that sending holds, in bytes. Other threads may call this,
   * too; they may see a value that is a little old.
   */
  public long sendBytes() {
    return (long) SEND_BYTES.getOpaque(this);
  }

  /** How much {@link #tryReserve} has left, in bytes. */
  long roomBytes() {
    return Math.max(0, receiveLimitBytes() - receiveBytes());
  }

  /**
   * Reserves {@code bytes} for received data.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserve(int bytes) {
    if (bytes > receiveLimitBytes() - receiveBytes()) {
      return false;
    }
    charge(bytes);
    return true;
  }

  /**
   * Reserves {@code bytes} for data beyond a gap. A quarter of what sending leaves stays free for
   * the data that closes gaps: otherwise nothing could be delivered and released any more.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveBeyondGap(int bytes) {
    long receiveLimitBytes = receiveLimitBytes();
    return bytes <= receiveLimitBytes - receiveLimitBytes / 4 - receiveBytes() && tryReserve(bytes);
  }

  /**
   * Reserves {@code bytes} for data that only spares a retransmission, such as copies for forward
   * error correction. Half of what sending leaves stays free for everything else.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveSpare(int bytes) {
    long receiveLimitBytes = receiveLimitBytes();
    return bytes <= receiveLimitBytes - receiveLimitBytes / 2 - receiveBytes() && tryReserve(bytes);
  }

  /** What sending leaves for receiving: at least half of the limit. */
  private long receiveLimitBytes() {
    return limitBytes - Math.min(sendBytes, limitBytes / 2);
  }

  private long receiveBytes() {
    return usedBytes - sendBytes;
  }

  /** Whether the share of sending, and the limit, have room for {@code bytes} more. */
  boolean hasRoomToSend(long bytes) {
    return bytes <= limitBytes / 2 - sendBytes && bytes <= limitBytes - usedBytes;
  }

  /** Counts {@code bytes} in the share of sending, without a check. */
  void chargeToSend(int bytes) {
    sendBytes += bytes;
    charge(bytes);
  }

  /** Releases {@code bytes} of the share of sending. */
  void releaseToSend(int bytes) {
    sendBytes -= bytes;
    assert sendBytes >= 0 : sendBytes;
    release(bytes);
  }

  /** Counts {@code bytes} without a check. */
  void charge(int bytes) {
    usedBytes += bytes;
  }

  /** Releases {@code bytes} that were reserved. */
  public void release(long bytes) {
    usedBytes -= bytes;
    assert usedBytes >= 0 : usedBytes;
  }
}
