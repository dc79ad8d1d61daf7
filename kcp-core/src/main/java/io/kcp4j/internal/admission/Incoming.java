package io.kcp4j.internal.admission;

import io.kcp4j.CloseReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An attempt of a peer to begin a session. The driver is given it by {@link
 * SessionTable.Handler#incoming} and answers it once, there or later, by {@link #accept}, {@link
 * #refuse} or {@link #ignore}. Until then it counts as a session, and what the peer sends waits in
 * a bounded backlog.
 *
 * <p>It may be handed to another thread, to decide there. The answers, however, are called by the
 * thread of the table. Answers after the first have no effect, nor do those after {@link
 * SessionTable#close}.
 */
public final class Incoming {

  private final Admission admission;
  private final SessionKey key;
  private final boolean isValidated;
  public final FirstPacket first;

  /** Null if the client has not offered the extension. */
  private final FirstPacket.Offer offer;

  public final List<ByteBuf> packets = new ArrayList<>(1);

  /** Null until the attempt is accepted. */
  private Session session;

  /** Whether the driver has left the attempt unanswered for later. */
  private boolean isDeferred;

  Incoming(
      Admission admission,
      SessionKey key,
      boolean isValidated,
      FirstPacket first,
      FirstPacket.Offer offer) {
    this.admission = admission;
    this.key = key;
    this.isValidated = isValidated;
    this.first = first;
    this.offer = offer;
  }

  /** The address of the peer. From any thread. */
  public InetSocketAddress remote() {
    return key.remote();
  }

  /** The conversation id that the peer has chosen. From any thread. */
  public int conv() {
    return key.conv();
  }

  /**
   * Whether the peer has shown that it receives at its address, by a retry or a challenge. From any
   * thread. If it has not, the address may be forged.
   */
  public boolean isValidated() {
    return isValidated;
  }

  /** The packet that has begun the attempt. */
  public FirstPacket first() {
    return first;
  }

  /**
   * Adds a session for the peer, which takes in what the peer has sent up to now. When this is
   * called after {@link SessionTable.Handler#incoming} has returned, the driver calls {@link
   * SessionTable#endBatch} next.
   *
   * @param session a new session of the same address and conversation id
   * @param nowUs the time, in microseconds
   * @return false if the attempt was answered before, or the table has closed: the session was not
   *     added
   * @throws IllegalArgumentException if the session has another address or conversation id, or if
   *     the table has one of the same meanwhile
   */
  public boolean accept(Session session, long nowUs) {
    if (!session.key().equals(key)) {
      throw new IllegalArgumentException(
          "session: " + session.key() + " (expected: " + key + " of the peer)");
    }
    return admission.accept(this, session, nowUs);
  }

  /**
   * Refuses the attempt, which is counted as {@link KcpCounter#ACCEPT_REFUSED}. The peer is told
   * nothing. When it retransmits, it makes another attempt.
   */
  public void refuse() {
    admission.refuse(this, null, 0);
  }

  /**
   * Refuses the attempt, and tells the peer why, if it offers the extension: the session of the
   * client ends as {@link io.kcp4j.EndReason#REFUSED}. The answer is no longer than the peer's
   * datagram: the text may be cut. A table sends at most 2,000 in a second.
   *
   * @param reason what the peer is told; null for nothing
   * @param nowUs the time, in microseconds
   */
  public void refuse(CloseReason reason, long nowUs) {
    admission.refuse(this, reason, nowUs);
  }

  /**
   * Drops the attempt, and for the next 60 s all that the peer sends in this conversation, as that
   * of a closed session.
   *
   * @param nowUs the time, in microseconds
   */
  public void ignore(long nowUs) {
    admission.ignore(this, nowUs);
  }

  SessionKey key() {
    return key;
  }

  /** What the client has offered, or null. */
  FirstPacket.Offer offer() {
    return offer;
  }

  /**
   * The copies of packets that wait, which belong to the {@link Incoming.Backlog}. Nonces precede
   * them.
   */
  public List<ByteBuf> packets() {
    return packets;
  }

  void accepted(Session session) {
    this.session = session;
  }

  /** The session, if the attempt was accepted, or null. */
  Session session() {
    return session;
  }

  void defer() {
    isDeferred = true;
  }

  boolean isDeferred() {
    return isDeferred;
  }

  /**
   * The attempts to begin a session that the driver has not answered yet, and copies of the packets
   * that their peers have sent. Bounded in attempts, in packets of each, and by the memory budget.
   * Packets that find no room are dropped; the peers retransmit them. Owns the copies.
   */
  public static final class Backlog {

    public static final int MAX_PENDING_ACCEPTS = 256;

    /** The first flight of a peer that knows no window yet: C KCP assumes 128 segments. */
    public static final int MAX_PACKETS = 128;

    private final KcpContext context;
    private final Map<SessionKey, Incoming> pending = new HashMap<>();

    Backlog(KcpContext context) {
      this.context = context;
    }

    boolean isFull() {
      return pending.size() == MAX_PENDING_ACCEPTS;
    }

    boolean contains(SessionKey key) {
      return pending.containsKey(key);
    }

    boolean contains(Incoming incoming) {
      return pending.get(incoming.key()) == incoming;
    }

    void add(Incoming incoming) {
      pending.put(incoming.key(), incoming);
    }

    /**
     * Keeps a copy of a packet, from {@code start} to its writer index, behind a copy of its nonce.
     *
     * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
     * @return false if there is no attempt of that key, or no room
     */
    boolean keep(SessionKey key, ByteBuf packet, int start, int nonceBytes) {
      Incoming incoming = pending.get(key);
      int bytes = nonceBytes + packet.writerIndex() - start;
      if (incoming == null
          || incoming.packets().size() == MAX_PACKETS
          || !context.budget().tryReserveUnvalidated(bytes)) {
        return false;
      }
      ByteBuf copy = null;
      try {
        copy = context.allocator().buffer(bytes, bytes);
        incoming.packets().add(copy);
      } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
        context.total().add(KcpCounter.ALLOCATION_FAILED, 1);
        context.budget().releaseUnvalidated(bytes);
        if (copy != null) {
          copy.release();
        }
        return false;
      }
      copy.writeBytes(packet, start - nonceBytes, bytes).skipBytes(nonceBytes);
      return true;
    }

    /** Removes an attempt; {@link #release} its packets afterwards. */
    void remove(Incoming incoming) {
      pending.remove(incoming.key());
    }

    /** Releases the packets of an attempt that was removed. */
    void release(Incoming incoming) {
      for (ByteBuf packet : incoming.packets()) {
        context.budget().releaseUnvalidated(packet.maxCapacity());
        packet.release();
      }
      incoming.packets().clear();
    }

    /** Removes all attempts, releases their packets, and returns the attempts. */
    Collection<Incoming> clear() {
      List<Incoming> removed = List.copyOf(pending.values());
      pending.clear();
      removed.forEach(this::release);
      return removed;
    }
  }
}
