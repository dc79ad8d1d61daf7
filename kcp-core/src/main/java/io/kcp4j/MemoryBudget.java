package io.kcp4j;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * A limit on the memory that all sessions of one endpoint hold together, counted by capacity and
 * not by content, so that many tiny segments cannot cost more than they seem to. Used by one
 * thread; others may read what is used.
 *
 * <p>What is written and not acknowledged has a share of its own, half of the limit, so that peers
 * that take nothing cannot keep the other half from what is received. Data in order may have all
 * that sending leaves; what waits behind a gap three quarters of that, and what can be done without
 * half of it.
 *
 * <p>What is held exceeds the limit by no more than the least that every session may always queue:
 * one segment, or in message mode one message, of each session that has nothing else to send.
 */
public final class MemoryBudget {

  /** For readers on other threads; see {@link #usedBytes()}. */
  private static final VarHandle USED_BYTES = field("usedBytes");

  private static final VarHandle SEND_BYTES = field("sendBytes");

  private final long limitBytes;
  private long usedBytes;

  /** What is used to send, of {@link #usedBytes}. */
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
   * What is held now, in bytes. Exceeds the limit at most by a segment or a message of each session
   * that sends. Other threads may ask, too, and see it a little late.
   */
  public long usedBytes() {
    return (long) USED_BYTES.getOpaque(this);
  }

  /** What of it is held to send, in bytes. Other threads may ask, too, and see it a little late. */
  public long sendBytes() {
    return (long) SEND_BYTES.getOpaque(this);
  }

  /** What {@link #tryReserve} still has, in bytes. */
  long roomBytes() {
    return Math.max(0, receiveLimitBytes() - receiveBytes());
  }

  /** Reserves {@code bytes} if the limit allows; what a peer makes us keep asks here. */
  public boolean tryReserve(int bytes) {
    if (bytes > receiveLimitBytes() - receiveBytes()) {
      return false;
    }
    charge(bytes);
    return true;
  }

  /**
   * Reserves {@code bytes} for what waits behind a gap. A quarter of what sending leaves stays free
   * for what closes gaps: else nothing could be delivered any more, and nothing released.
   */
  boolean tryReserveBeyondGap(int bytes) {
    long receiveLimitBytes = receiveLimitBytes();
    return bytes <= receiveLimitBytes - receiveLimitBytes / 4 - receiveBytes() && tryReserve(bytes);
  }

  /**
   * Reserves {@code bytes} for what only spares a retransmission, such as copies for forward error
   * correction. Half of what sending leaves stays free for what cannot be done without.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveSpare(int bytes) {
    long receiveLimitBytes = receiveLimitBytes();
    return bytes <= receiveLimitBytes - receiveLimitBytes / 2 - receiveBytes() && tryReserve(bytes);
  }

  /** What sending leaves for all else: half of the limit, whatever it holds. */
  private long receiveLimitBytes() {
    return limitBytes - Math.min(sendBytes, limitBytes / 2);
  }

  private long receiveBytes() {
    return usedBytes - sendBytes;
  }

  /** Whether the share of what is sent, and the limit, have room for {@code bytes} more. */
  boolean hasRoomToSend(long bytes) {
    return bytes <= limitBytes / 2 - sendBytes && bytes <= limitBytes - usedBytes;
  }

  /** Counts {@code bytes} of what is sent; see {@link #hasRoomToSend}. */
  void chargeToSend(int bytes) {
    sendBytes += bytes;
    charge(bytes);
  }

  /** Gives back {@code bytes} of the share of what is sent. */
  void releaseToSend(int bytes) {
    sendBytes -= bytes;
    assert sendBytes >= 0 : sendBytes;
    release(bytes);
  }

  /** Counts {@code bytes} without asking. */
  void charge(int bytes) {
    usedBytes += bytes;
  }

  /** Gives back {@code bytes} that had been reserved. */
  public void release(long bytes) {
    usedBytes -= bytes;
    assert usedBytes >= 0 : usedBytes;
  }
}
