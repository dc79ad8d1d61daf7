package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.lanes.InboundMessage;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.lanes.OutboundMessage.Drop;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * The unreliable datagrams of one session that wait to be sent and to be read. Each of the two
 * queues has the same limit, beyond which the oldest datagram is dropped. Most sessions have none,
 * so the queues are made on first use. Owns the buffers, and charges them to the account.
 *
 * <p>A peer that has the extension is sent them in messages of it: protocol.md 13.7. To others they
 * leave as those of kcp-go, if FEC is on: protocol.md 12.
 */
public final class UnreliableQueues {

  /** What precedes the payload of one in a message of the extension. */
  static final int MESSAGE_HEADER_BYTES =
      Segment.HEADER_BYTES
          + ExtensionMessage.HEADER_BYTES
          + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
          + ExtensionMessage.itemBytes(ExtensionMessage.DATAGRAM);

  private final MemoryAccount account;
  private final KcpCounters counters;

  private int limit;

  /** The sequence number of the next one that is sent in a message. */
  private int nextSn;

  private boolean hasReceived;
  private InboundMessage.Queue received;
  private InboundMessage.Memory receivedMemory;
  private OutboundMessage.Queue<OutboundMessage> sending;

  UnreliableQueues(MemoryAccount account, KcpCounters counters) {
    this.account = account;
    this.counters = counters;
  }

  /** How many datagrams each queue holds at most. */
  int limit() {
    return limit;
  }

  void limit(int datagrams) {
    limit = datagrams;
  }

  /** The largest datagram that a session can send now, in bytes; 0 for none. */
  int maxBytes(Session session) {
    if (limit == 0) {
      return 0;
    }
    if (!session.isExtensionUnsupported()) {
      return Math.max(roomBytes(session) - MESSAGE_HEADER_BYTES, 0);
    }
    return session.fec().isEncoding() ? roomBytes(session) - Integer.BYTES : 0;
  }

  /** The largest datagram, without what the layers below add, in bytes. */
  private static int roomBytes(Session session) {
    return session.kcp().mssBytes() + session.kcp().reservedBytes() + Segment.HEADER_BYTES;
  }

  /**
   * Checks a datagram that is to be sent.
   *
   * @throws IllegalArgumentException if it cannot be sent
   */
  void check(Session session, ByteBuf datagram) {
    if (limit == 0) {
      throw new IllegalArgumentException("datagramQueue: 0 (expected: >= 1, to send datagrams)");
    }
    int maxBytes = maxBytes(session);
    if (maxBytes == 0) {
      throw new IllegalArgumentException("FEC: off (expected: on, or a peer with the extension)");
    }
    if (datagram.readableBytes() > maxBytes) {
      throw new IllegalArgumentException(
          "datagram: " + datagram.readableBytes() + " bytes (expected: <= " + maxBytes + ")");
    }
  }

  /** Queues a datagram to be sent, and takes over its buffer. */
  void send(OutboundMessage datagram) {
    datagram.queued();
    if (!account.tryReserveSpare(datagram.capacity())) {
      drop(datagram, Drop.OUT_OF_MEMORY);
      return;
    }
    if (sending == null) {
      sending = new OutboundMessage.Queue<>();
    }
    sending.add(datagram);
    while (sending.messages() > limit) {
      drop(removeFirst(), Drop.QUEUE_FULL);
    }
  }

  private OutboundMessage removeFirst() {
    OutboundMessage first = sending.remove();
    account.release(first.capacity());
    return first;
  }

  private void drop(OutboundMessage datagram, Drop reason) {
    countDropped();
    datagram.drop(reason);
  }

  boolean hasDatagramsToSend() {
    return sending != null && !sending.isEmpty();
  }

  /**
   * Writes the datagrams that wait to be sent, as far as their path allows, by the extension if the
   * peer has it. They wait while that is not known. If the output throws, the rest waits for the
   * next flush.
   */
  void flush(Session session, PacketOutput output) {
    if (sending == null) {
      return;
    }
    for (OutboundMessage next; (next = sending.first()) != null; ) {
      if (!next.isReadable()) {
        drop(removeFirst(), Drop.UNREADABLE);
        continue;
      }
      int bytes = next.bytes();
      boolean isEstablished = session.isExtensionEstablished();
      boolean fits = MESSAGE_HEADER_BYTES + bytes <= roomBytes(session);
      if (isEstablished && fits) { // So the path is validated.
        output.unreliable(session, nextSn++, next);
      } else if (session.fec().isEncoding()) {
        int packetBytes = PacketOutput.UNRELIABLE_HEADER_BYTES + bytes;
        if (!output.isAllowed(packetBytes + session.unconfirmedAnswerBytes())) {
          return;
        }
        output.unreliable(session.conv(), next);
      } else if (isEstablished || session.isExtensionUnsupported()) {
        drop(removeFirst(), isEstablished ? Drop.TOO_LARGE : Drop.UNSUPPORTED);
        continue;
      } else {
        return;
      }
      counters.add(KcpCounter.UNRELIABLE_OUT, 1);
      removeFirst().succeed();
    }
  }

  /** Whether any has been received since the last call. */
  boolean takeReceived() {
    boolean received = hasReceived;
    hasReceived = false;
    return received;
  }

  /** Takes the datagram in an item of a message of the extension. */
  public void receiveItem(ByteBuf message, int item) {
    int payload = item + ExtensionMessage.itemBytes(ExtensionMessage.DATAGRAM);
    int bytes = item + ExtensionMessage.itemBytesAt(message, item) - payload;
    receive(message, payload, bytes);
  }

  /** Something unreliable has been received, which is payload. */
  public void noteReceived() {
    hasReceived = true;
  }

  /** Queues a copy of a received datagram, which begins at {@code index} of its packet. */
  void receive(ByteBuf packet, int index, int bytes) {
    if (limit == 0) {
      countDropped();
      return;
    }
    counters.add(KcpCounter.UNRELIABLE_IN, 1);
    hasReceived = true;
    if (received == null) {
      received = new InboundMessage.Queue();
      receivedMemory = new InboundMessage.Memory(account, counters);
    }
    receivedMemory.add(received, limit, packet, index, bytes);
  }

  /** The oldest received datagram, which becomes the caller's, or null. */
  ByteBuf poll() {
    return received == null ? null : receivedMemory.poll(received);
  }

  boolean isReceivable() {
    return received != null && received.readable() > 0;
  }

  private void countDropped() {
    counters.add(KcpCounter.UNRELIABLE_DROPPED, 1);
  }

  void close() {
    for (ByteBuf datagram; (datagram = poll()) != null; ) {
      datagram.release();
    }
    while (hasDatagramsToSend()) {
      removeFirst().drop(Drop.SESSION_CLOSED);
    }
  }
}
