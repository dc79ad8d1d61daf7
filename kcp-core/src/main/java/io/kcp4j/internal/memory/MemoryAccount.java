package io.kcp4j.internal.memory;

import io.kcp4j.internal.memory.MemoryBudget.Purpose;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;

/**
 * What one session holds of the {@link MemoryBudget}: all that its peer can make it keep is
 * reserved here before it is allocated, and all that it sends. While its path is not validated, it
 * shares a small part of the limit with all sessions like it, both ways. Used by one thread.
 */
public final class MemoryAccount {

  public final Context context;

  private int sendBytes;
  private int receiveBytes;

  /** The part of it that was forwarded and not read, in bytes. */
  private int unreadBytes;

  /** The part of it for lanes or streams, in bytes. */
  private int streamBytes;

  /** By which the sessions of a network are counted together. */
  private short network;

  private boolean isUnvalidated;

  /** Whether it may use the reserve. */
  private boolean hasReserve;

  /**
   * The last reservation that was refused since {@link #takeShortage}, in bytes; below 0 if that
   * was for sending.
   */
  private int refusedBytes;

  /** Makes the account of a session that holds nothing, and whose path is validated. */
  public MemoryAccount(Context context) {
    this.context = context;
  }

  /** Makes an account on a budget, for one who allocates by himself. */
  public static MemoryAccount of(MemoryBudget budget) {
    return new MemoryAccount(new Unpooled(budget, UnpooledByteBufAllocator.DEFAULT));
  }

  private record Unpooled(MemoryBudget budget, ByteBufAllocator allocator) implements Context {}

  public Context context() {
    return context;
  }

  private MemoryBudget budget() {
    return context.budget();
  }

  /** The memory that the session holds, in bytes. */
  public int heldBytes() {
    return sendBytes + receiveBytes;
  }

  /** The part of it that is queued or in flight, in bytes. */
  public int sendBytes() {
    return sendBytes;
  }

  /** The part of it that was received, in bytes. */
  public int receiveBytes() {
    return receiveBytes;
  }

  /** The part of that which can be delivered or has to be completed, in bytes. */
  public int undeliveredBytes() {
    return receiveBytes - unreadBytes - streamBytes;
  }

  /** The number of its network: 0 to {@value NetworkParts#NETWORKS} - 1. */
  public int network() {
    return network;
  }

  /**
   * Sets the network that the session belongs to. To be called while its path is not validated, or
   * before it holds anything.
   *
   * @param hash a hash of the network
   */
  public void network(int hash) {
    network = (short) (hash & NetworkParts.NETWORKS - 1);
  }

  /** The address of the peer may be forged. To be called before the session holds anything. */
  public void unvalidated() {
    isUnvalidated = budget().hasUnvalidatedShare();
  }

  /** Whether it shares the part of unvalidated sessions. */
  public boolean isUnvalidated() {
    return isUnvalidated;
  }

  /**
   * The path has been validated: what the session holds counts in the common part from now on, if
   * that has room for it, or if the session may use the reserve. Otherwise it goes on to share the
   * part of those that are not validated.
   *
   * @return whether there was room
   */
  public boolean validated() {
    if (isUnvalidated && (hasReserve || budget().hasRoomToValidate(heldBytes()))) {
      isUnvalidated = false;
      budget().releaseUnvalidated(heldBytes());
      budget().chargeToSend(sendBytes);
      budget().charge(receiveBytes);
      budget().count(network, receiveBytes);
      budget().countToSend(network, sendBytes);
    }
    return !isUnvalidated;
  }

  /** Whether the session may use the reserve. */
  public boolean hasReserve() {
    return hasReserve;
  }

  /** Lets the session use the reserve, or ends that. */
  public void reserve(boolean hasReserve) {
    this.hasReserve = hasReserve;
  }

  /**
   * The last reservation that was refused since the last call, in bytes; 0 if there was none. The
   * peer tries again, or would if its window were open.
   */
  public int takeShortage() {
    int bytes = Math.abs(refusedBytes);
    refusedBytes = 0;
    return bytes;
  }

  /** Whether that was for sending. */
  public boolean isShortToSend() {
    return refusedBytes < 0;
  }

  /** The session could use more memory than there is for it, to receive. */
  public void noteShortage(int bytes) {
    refusedBytes = bytes;
    noteRefusal(bytes);
  }

  /** The same to send, unless it is short for receiving, too. */
  public void noteShortageToSend(int bytes) {
    if (refusedBytes == 0) {
      refusedBytes = -bytes;
    }
  }

  /**
   * Memory for received data was refused. That counts unless the session's network holds too much.
   */
  public void noteRefusal(int bytes) {
    if (!isUnvalidated && !budget().isLimited(network, bytes)) {
      budget().limit().refused();
    }
  }

  /** How often sessions of the same limit were refused memory for received data. */
  public long refusals() {
    return budget().limit().refusals();
  }

  private boolean refuse(int bytes) {
    noteShortage(bytes);
    return false;
  }

  /**
   * A direct buffer of this capacity, for which memory is reserved.
   *
   * @throws OutOfMemoryError if the allocator throws any exception
   */
  public ByteBuf directBuffer(int bytes) {
    return context.directBuffer(bytes, bytes);
  }

  // Receiving

  /** The largest message that can always be received, in bytes. */
  public long messageBytes() {
    MemoryLimit limit = budget().limit();
    return limit.reserveBytes() > 0 ? limit.reserveBytes() : limit.limitBytes();
  }

  /** How much {@link #tryReserve} has left, in bytes. */
  public long roomBytes() {
    long roomBytes;
    if (isUnvalidated) {
      roomBytes = budget().unvalidatedRoomBytes();
    } else if (hasReserve) {
      roomBytes = budget().roomBytesWithReserve();
    } else {
      roomBytes = budget().roomBytesToAdvertise(network);
    }
    return Math.max(0, roomBytes);
  }

  /**
   * Reserves {@code bytes} for received data that can be read, or lets others be read.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserve(int bytes) {
    return tryReserve(bytes, Purpose.IN_ORDER) || refuse(bytes);
  }

  /**
   * Reserves {@code bytes} for data beyond a gap, or for a part of a message. Some memory stays
   * free for the data that closes gaps and completes messages: otherwise nothing could be delivered
   * and released any more.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveBeyondGap(int bytes) {
    return tryReserve(bytes, Purpose.BEYOND_GAP) || refuse(bytes);
  }

  /**
   * Reserves {@code bytes} for data that only spares a retransmission, such as copies for forward
   * error correction, or that may be lost. Half of what sending leaves stays free for everything
   * else.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveSpare(int bytes) {
    return tryReserve(bytes, Purpose.SPARE);
  }

  private boolean tryReserve(int bytes, Purpose purpose) {
    return tryReserve(bytes, purpose, hasReserve && purpose != Purpose.SPARE);
  }

  private boolean tryReserve(int bytes, Purpose purpose, boolean isReserveUsed) {
    if (bytes == 0) {
      return true; // Even if more is held than there should be.
    }
    boolean isReserved;
    if (isUnvalidated) {
      isReserved = budget().tryReserveUnvalidated(bytes);
    } else if (isReserveUsed) {
      isReserved = budget().tryReserveAll(bytes, receiveBytes);
    } else {
      isReserved =
          !budget().isLimited(network, bytes) && budget().tryReserve(bytes, purpose, network);
    }
    if (isReserved) {
      receiveBytes += bytes;
      countValidated(bytes);
    }
    return isReserved;
  }

  private void countValidated(int bytes) {
    if (!isUnvalidated) {
      budget().count(network, bytes);
    }
  }

  /** Counts {@code bytes} of received data without a check. */
  public void charge(int bytes) {
    receiveBytes += bytes;
    if (isUnvalidated) {
      budget().chargeUnvalidated(bytes);
    } else {
      budget().charge(bytes);
    }
    countValidated(bytes);
  }

  /** Releases {@code bytes} of received data that were reserved. */
  public void release(int bytes) {
    receiveBytes -= bytes;
    assert receiveBytes >= 0 : receiveBytes;
    if (isUnvalidated) {
      budget().releaseUnvalidated(bytes);
    } else {
      budget().release(bytes);
    }
    countValidated(-bytes);
  }

  // Lanes and streams, which stay: streams never use the reserve, as messages do that end.

  /**
   * Reserves {@code bytes} for a lane: as {@link #tryReserveBeyondGap}, since the peer sends again,
   * and a lane is kept after its data.
   */
  public boolean tryReserveLane(int bytes) {
    return countStream(bytes, tryReserveBeyondGap(bytes));
  }

  /** Counts a change of what lanes take, without a check. */
  public void chargeLanes(int bytes) {
    streamBytes += bytes;
    charge(Math.max(0, bytes));
    release(Math.max(0, -bytes));
  }

  private boolean countStream(int bytes, boolean isReserved) {
    streamBytes += isReserved ? bytes : 0;
    return isReserved;
  }

  /** Releases {@code bytes} that were reserved for lanes or streams. */
  public void releaseStream(int bytes) {
    streamBytes -= bytes;
    assert streamBytes >= 0 : streamBytes;
    release(bytes);
  }

  /**
   * Reserves {@code bytes} for the state of a stream of a protocol above that the peer has opened,
   * so that it can at least be refused. A quarter of what sending leaves stays free for data. The
   * peer does not open it again, so it waits for nothing if there is no room.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveStream(int bytes) {
    return countStream(bytes, noteIfRefused(bytes, tryReserve(bytes, Purpose.BEYOND_GAP, false)));
  }

  /**
   * Reserves {@code bytes} for what the application makes for such a stream. Half of what sending
   * leaves stays free.
   *
   * @return false, with nothing reserved, if there is no room
   */
  public boolean tryReserveChannel(int bytes) {
    return countStream(bytes, noteIfRefused(bytes, tryReserveSpare(bytes)));
  }

  private boolean noteIfRefused(int bytes, boolean isReserved) {
    if (!isReserved) {
      noteRefusal(bytes);
    }
    return isReserved;
  }

  /**
   * Counts {@code bytes} that were forwarded to such a protocol, and that the application has not
   * read. They have arrived, so they count with or without room. Half of what sending leaves stays
   * free for others.
   *
   * @return whether there is room; if not, nothing more should be read from the session
   */
  public boolean chargeUnread(int bytes) {
    unreadBytes += bytes;
    boolean hasRoom = tryReserveSpare(bytes);
    if (!hasRoom) {
      charge(bytes);
    }
    return hasRoom;
  }

  /** Releases {@code bytes} that {@link #chargeUnread} has counted. */
  public void releaseUnread(int bytes) {
    unreadBytes -= bytes;
    assert unreadBytes >= 0 : unreadBytes;
    release(bytes);
  }

  /** Whether it is the application that has to read what was forwarded. */
  public boolean hasUnread() {
    return unreadBytes > 0;
  }

  // Sending

  /** Whether the share of sending has room for {@code bytes} more. */
  public boolean hasRoomToSend(long bytes) {
    return isUnvalidated
        ? bytes <= budget().unvalidatedRoomBytes()
        : !budget().isLimited(network, bytes) && budget().hasRoomToSend(bytes, network);
  }

  /** Whether a session that holds nothing may queue a message beyond that share. */
  public boolean hasRoomToBegin(long bytes) {
    return budget().limit().reserveBytes() == 0 || budget().hasRoomToBegin(bytes);
  }

  private void countValidatedToSend(int bytes) {
    if (!isUnvalidated) {
      budget().countToSend(network, bytes);
    }
  }

  /** Counts {@code bytes} in the share of sending, without a check. */
  public void chargeToSend(int bytes) {
    sendBytes += bytes;
    if (isUnvalidated) {
      budget().chargeUnvalidated(bytes);
    } else {
      budget().chargeToSend(bytes);
    }
    countValidatedToSend(bytes);
  }

  /** Releases {@code bytes} of the share of sending. */
  public void releaseToSend(int bytes) {
    sendBytes -= bytes;
    assert sendBytes >= 0 : sendBytes;
    if (isUnvalidated) {
      budget().releaseUnvalidated(bytes);
    } else {
      budget().releaseToSend(bytes);
    }
    countValidatedToSend(-bytes);
  }

  /** The allocator and the budget that the memory accounts of one endpoint share. */
  public interface Context {

    /** The limit on the memory of all sessions. */
    MemoryBudget budget();

    /** Allocates the direct buffers for payload. */
    ByteBufAllocator allocator();

    /**
     * A direct buffer of {@code bytes}, which may grow to {@code maxBytes}.
     *
     * @throws OutOfMemoryError if the allocator throws any exception
     */
    default ByteBuf directBuffer(int bytes, int maxBytes) {
      try {
        return allocator().directBuffer(bytes, maxBytes);
      } catch (RuntimeException e) { // As a user's own allocator may throw.
        OutOfMemoryError error = new OutOfMemoryError("allocator has failed: " + e);
        error.initCause(e);
        throw error;
      }
    }
  }
}
