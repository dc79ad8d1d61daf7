package io.kcp4j.internal.memory;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What the sessions of one event loop hold of a {@link MemoryLimit}, in plain counters. The budget
 * borrows from the limit in blocks: one atomic operation for each block, none for each segment.
 * Memory counts by capacity, not by content, so that many tiny segments cannot exceed the limit.
 * Used by one thread; other threads may read the usage.
 *
 * <p>Each session has a {@link MemoryAccount}, by which it reserves. Data in order may use all that
 * sending leaves of the common part; data beyond a gap three quarters of that, and data that only
 * spares a retransmission, half, unless the session's network holds no more than an eighth of what
 * is left. Almost always there is room for a network that holds almost nothing. While sessions of
 * other networks wait for memory, those of one network may reserve no more than its part together
 * ({@link NetworkParts}).
 *
 * <p>The limit can be exceeded by the minimum that every validated session may always queue: one
 * segment, or in message mode one message, of each session that has nothing else to send.
 */
public final class MemoryBudget {

  /** For what memory is reserved: the more it helps others, the more it may use. */
  enum Purpose {
    IN_ORDER(0),
    // A quarter stays free for the data that closes gaps: nothing could be read otherwise.
    BEYOND_GAP(1),
    SPARE(2);

    /** How much of what can be had it leaves for the others, in quarters. */
    private final int keptQuarters;

    Purpose(int keptQuarters) {
      this.keptQuarters = keptQuarters;
    }
  }

  /** A network that holds no more than this part of the room may use it for any purpose. */
  private static final int LITTLE_PART = 8;

  /** The most that a network may hold while others leave nothing: small messages, or a stream. */
  private static final int SMALL_BYTES = 8 * 1024;

  private final MemoryLimit limit;
  private final int blockBytes;
  private final long commonBytes;
  private final Share sending;
  private final Share receiving;
  private final Share unvalidated;

  /** What validated sessions hold, by network; null without a share of unvalidated sessions. */
  private final AtomicLongArray networks;

  /** Whether the process has had no room since a session waited last. */
  private boolean isProcessShort;

  /**
   * Makes a budget that alone has a limit, without a share for unvalidated sessions and without a
   * reserve.
   *
   * @param limitBytes the limit, in bytes, at least 1
   */
  public MemoryBudget(long limitBytes) {
    this(MemoryLimit.plain(limitBytes));
  }

  /** Makes a budget that borrows from a limit, together with others. */
  public MemoryBudget(MemoryLimit limit) {
    this.limit = limit;
    blockBytes = limit.blockBytes();
    commonBytes = limit.commonBytes();
    sending = new Share(limit.sending());
    receiving = new Share(limit.receiving());
    unvalidated = new Share(limit.unvalidated());
    networks = hasUnvalidatedShare() ? limit.networkParts().newCounters() : null;
    limit.unvalidatedShare().add(unvalidated::readUsedBytes);
  }

  /** A budget without a limit; it still counts. */
  public static MemoryBudget unlimited() {
    return new MemoryBudget(Long.MAX_VALUE);
  }

  /** What this budget uses of a share of the limit, and what it has borrowed for that. */
  private final class Share {

    private static final VarHandle USED_BYTES;

    static {
      try {
        USED_BYTES = MethodHandles.lookup().findVarHandle(Share.class, "usedBytes", long.class);
      } catch (ReflectiveOperationException e) {
        throw new ExceptionInInitializerError(e);
      }
    }

    private final AtomicLong borrowed;
    private long borrowedBytes;
    private long usedBytes;

    Share(AtomicLong borrowed) {
      this.borrowed = borrowed;
    }

    /** What all budgets use, at most, in bytes: what others have borrowed counts as used. */
    long allBytes() {
      return borrowed.get() - (borrowedBytes - usedBytes);
    }

    /**
     * Whether the process has room for what has to be borrowed for {@code bytes} more.
     *
     * @param purpose for which a part of what the process has stays free
     * @param beyondBytes by how much its limit may be exceeded
     */
    boolean isLeftByProcess(long bytes, Purpose purpose, long beyondBytes) {
      long moreBytes = usedBytes + bytes - borrowedBytes;
      boolean isLeft =
          moreBytes <= 0 || moreBytes - beyondBytes <= limit.processRoomBytes(purpose.keptQuarters);
      isProcessShort |= !isLeft;
      return isLeft;
    }

    /** What the process has left, with what has been borrowed and not used, in bytes. */
    long leftByProcessBytes() {
      return borrowedBytes - usedBytes + limit.processRoomBytes();
    }

    void use(long bytes) {
      usedBytes += bytes;
      long moreBytes = usedBytes - borrowedBytes;
      if (moreBytes > 0) {
        long leftBytes = limit.limitBytes() - limit.borrowedBytes() - moreBytes;
        borrow(moreBytes + Math.max(0, Math.min(blockBytes, leftBytes)));
      }
    }

    void release(long bytes) {
      usedBytes -= bytes;
      assert usedBytes >= 0 : usedBytes;
      long unusedBytes = borrowedBytes - usedBytes;
      if (unusedBytes > 2L * blockBytes || usedBytes == 0) {
        borrow(-(usedBytes == 0 ? unusedBytes : unusedBytes - blockBytes));
      }
    }

    private void borrow(long bytes) {
      borrowed.addAndGet(bytes);
      borrowedBytes += bytes;
    }

    /** The same from any thread. */
    long readUsedBytes() {
      return (long) USED_BYTES.getOpaque(this);
    }
  }

  /** The limit that this budget borrows from. */
  public MemoryLimit limit() {
    return limit;
  }

  /** The limit, in bytes. */
  public long limitBytes() {
    return limit.limitBytes();
  }

  /**
   * The memory held now, in bytes. Other threads may call this, too; they may see a value that is a
   * little old.
   */
  public long usedBytes() {
    return sending.readUsedBytes() + receiving.readUsedBytes() + unvalidated.readUsedBytes();
  }

  /**
   * The part of {@link #usedBytes()} that sending holds, in bytes, without that of unvalidated
   * sessions. Other threads may call this, too; they may see a value that is a little old.
   */
  public long sendBytes() {
    return sending.readUsedBytes();
  }

  /**
   * The part of {@link #usedBytes()} that unvalidated sessions hold, in bytes. Other threads may
   * call this, too; they may see a value that is a little old.
   */
  public long unvalidatedBytes() {
    return unvalidated.readUsedBytes();
  }

  // Sessions whose path is validated

  /**
   * What a purpose has left, in bytes; below 0 if more is held.
   *
   * @param withheldBytes what is kept free for the session that may use the reserve
   */
  long roomBytes(Purpose purpose, long withheldBytes) {
    long sentBytes = Math.min(sending.allBytes(), commonBytes / 2);
    long leftBytes = commonBytes - sentBytes - withheldBytes;
    return leftBytes - leftBytes / 4 * purpose.keptQuarters - receiving.allBytes();
  }

  /** The room for sessions of a network without the reserve, in bytes. */
  long roomBytesToAdvertise(int network) {
    long roomBytes = roomBytesToAdvertise(limit.withheldBytes(), 0);
    return roomBytes >= SMALL_BYTES ? roomBytes : Math.max(roomBytes, smallRoomBytes(network));
  }

  /** What is left of {@link #roomBytes} for data in order while the process is short of memory. */
  private long roomBytesToAdvertise(long withheldBytes, long beyondBytes) {
    long roomBytes = roomBytes(Purpose.IN_ORDER, withheldBytes);
    if (!isProcessShort) {
      return roomBytes;
    }
    return Math.min(roomBytes, receiving.leftByProcessBytes() + beyondBytes);
  }

  /** Whether any session could receive {@code bytes}, even beyond a gap. */
  public boolean hasRoomToReceive(long bytes) {
    return bytes <= roomBytes(Purpose.BEYOND_GAP, limit.withheldBytes())
        && receiving.isLeftByProcess(bytes, Purpose.BEYOND_GAP, 0);
  }

  /** Whether nothing of the reserve is in use. */
  public boolean isReserveFree() {
    return roomBytes(Purpose.IN_ORDER, limit.reserveBytes()) >= 0 && limit.processRoomBytes() >= 0;
  }

  /** What is left for the session that may use the reserve, in bytes. */
  public long roomBytesWithReserve() {
    return roomBytesToAdvertise(limit.withheldFromAllBytes(), limit.reserveBytes());
  }

  /**
   * Reserves for the session that may use the reserve, whatever the process has left. While nothing
   * more can be allocated, the session may hold as much as the reserve at most.
   *
   * @param heldBytes what the session holds
   */
  boolean tryReserveAll(int bytes, int heldBytes) {
    long countedBytes = limit.isAllocatable() ? 0 : heldBytes;
    long beyondBytes = Math.max(limit.reserveBytes() - countedBytes, 0);
    return tryReserve(bytes, Purpose.IN_ORDER, limit.withheldFromAllBytes(), beyondBytes);
  }

  private boolean tryReserve(int bytes, Purpose purpose, long withheldBytes, long beyondBytes) {
    if (bytes > roomBytes(purpose, withheldBytes)
        || !receiving.isLeftByProcess(bytes, purpose, beyondBytes)) {
      return false;
    }
    receiving.use(bytes);
    return true;
  }

  /** Reserves for a session of a network, which has more room while that holds little. */
  boolean tryReserve(int bytes, Purpose purpose, int network) {
    long withheldBytes = limit.withheldBytes();
    return tryReserve(bytes, purpose, withheldBytes, 0)
        || (holdsLittle(network, bytes, withheldBytes)
            && tryReserve(bytes, Purpose.IN_ORDER, withheldBytes, 0))
        || (bytes <= smallRoomBytes(network) && tryReserve(bytes, Purpose.IN_ORDER, 0, 0));
  }

  /** Counts {@code bytes} of receiving without a check. */
  public void charge(long bytes) {
    receiving.use(bytes);
  }

  public void release(long bytes) {
    receiving.release(bytes);
  }

  /** Whether the share of sending, and the limit, have room for {@code bytes} more. */
  public boolean hasRoomToSend(long bytes) {
    return bytes <= roomBytesToSend() && sending.isLeftByProcess(bytes, Purpose.BEYOND_GAP, 0);
  }

  private long roomBytesToSend() {
    long sentBytes = sending.allBytes();
    long leftBytes = commonBytes - limit.withheldBytes() - sentBytes - receiving.allBytes();
    return Math.min(commonBytes / 2 - sentBytes, leftBytes);
  }

  /**
   * The same for a session of a network. When less than half of the share is left, no network may
   * hold more of it than half of what it leaves: several that take no answers leave some for
   * others.
   */
  boolean hasRoomToSend(long bytes, int network) {
    long roomBytes = roomBytesToSend() - bytes;
    return hasRoomToSend(bytes)
        && (networks == null
            || roomBytes >= commonBytes / 4
            || limit.networkParts().sendBytes(network) + bytes <= roomBytes / 2);
  }

  /**
   * Whether a session that holds nothing may queue {@code bytes} though sending has no room for
   * them: all such sessions together may exceed its share by as much as the reserve.
   */
  boolean hasRoomToBegin(long bytes) {
    long sentBytes = sending.allBytes();
    return bytes <= commonBytes / 2 + limit.reserveBytes() - sentBytes
        && bytes <= commonBytes - sentBytes - receiving.allBytes();
  }

  /** Counts {@code bytes} in the share of sending, without a check. */
  public void chargeToSend(long bytes) {
    sending.use(bytes);
  }

  void releaseToSend(long bytes) {
    sending.release(bytes);
  }

  // Sessions whose path is not validated, and peers without a session

  /** Whether unvalidated sessions have a share of their own. */
  public boolean hasUnvalidatedShare() {
    return limit.unvalidatedShare().bytes() > 0;
  }

  /** The room for this budget in the share of unvalidated sessions, in bytes. */
  public long unvalidatedRoomBytes() {
    return hasUnvalidatedShare()
        ? limit.unvalidatedShare().roomBytes(unvalidated.usedBytes)
        : roomBytes(Purpose.SPARE, 0);
  }

  /**
   * Whether that share has room for {@code bytes} that are not counted in it, if each budget has as
   * much.
   */
  public boolean hasUnvalidatedRoomBeside(long bytes) {
    return !hasUnvalidatedShare()
        || bytes <= limit.unvalidatedShare().equalRoomBytes(unvalidated.usedBytes);
  }

  /** Whether less than half of what this budget may use of that share is left. */
  public boolean isUnvalidatedShareScarce() {
    return hasUnvalidatedShare()
        && unvalidatedRoomBytes() < limit.unvalidatedShare().mostBytes() / 2;
  }

  /**
   * Reserves {@code bytes} for a peer that has no session yet, or for a session whose path is not
   * validated.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveUnvalidated(int bytes) {
    if (!hasUnvalidatedShare()) {
      return tryReserve(bytes, Purpose.SPARE, 0, 0);
    }
    if (bytes > unvalidatedRoomBytes()
        || !unvalidated.isLeftByProcess(bytes, Purpose.IN_ORDER, 0)) {
      return false;
    }
    unvalidated.use(bytes);
    return true;
  }

  /**
   * Whether the common part has room for what a session brings along that has been validated. All
   * others leave room for that, and in need it takes the reserve.
   */
  boolean hasRoomToValidate(int bytes) {
    return bytes == 0 || bytes <= roomBytes(Purpose.IN_ORDER, 0);
  }

  /** Counts {@code bytes} in the share of unvalidated sessions, without a check. */
  public void chargeUnvalidated(long bytes) {
    (hasUnvalidatedShare() ? unvalidated : receiving).use(bytes);
  }

  /** Releases what was reserved by {@link #tryReserveUnvalidated}. */
  public void releaseUnvalidated(long bytes) {
    (hasUnvalidatedShare() ? unvalidated : receiving).release(bytes);
  }

  // What belongs to no session

  /**
   * Reserves {@code bytes} for what a server needs itself, whatever sessions it has.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveOwn(int bytes) {
    return tryReserve(bytes, Purpose.SPARE, limit.withheldBytes(), 0);
  }

  /** Releases what was reserved by {@link #tryReserveOwn}. */
  public void releaseOwn(long bytes) {
    receiving.release(bytes);
  }

  // Networks

  /** Counts what a session of a network holds. */
  void count(int network, long bytes) {
    add(network, bytes);
  }

  /** Counts what a session of a network holds of the share of sending, too. */
  void countToSend(int network, long bytes) {
    add(network, bytes);
    add(NetworkParts.NETWORKS + network, bytes);
  }

  private void add(int index, long bytes) {
    if (networks != null) {
      networks.setOpaque(index, networks.getPlain(index) + bytes);
    }
  }

  /** Whether what a network holds is little compared with the room: nobody lacks it. */
  private boolean holdsLittle(int network, long bytes, long withheldBytes) {
    long leftBytes = roomBytes(Purpose.IN_ORDER, withheldBytes);
    long roomBytes = Math.min(leftBytes, limit.processRoomBytes());
    return networks != null
        && limit.networkParts().bytes(network) + bytes <= roomBytes / LITTLE_PART;
  }

  /** How much more a network may hold that holds almost nothing, whatever others do, in bytes. */
  private long smallRoomBytes(int network) {
    if (networks == null) {
      return 0;
    }
    long leftBytes = SMALL_BYTES - limit.networkParts().bytes(network);
    return Math.min(leftBytes, roomBytes(Purpose.IN_ORDER, 0));
  }

  /** Whether a network may not reserve so much more, since a session of another one waits. */
  boolean isLimited(int network, long moreBytes) {
    NetworkParts parts = limit.networkParts();
    return parts.isLimited() && parts.isLimited(network, networks.getPlain(network) + moreBytes);
  }

  /** No session waits for memory. */
  public void endWait() {
    isProcessShort = false;
  }
}
