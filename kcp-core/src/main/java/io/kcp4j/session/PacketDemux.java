package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.InputResult;
import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.Origin;
import io.kcp4j.Segment;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecPacket;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.function.ObjLongConsumer;

/**
 * Tells segments, FEC data, parity and unreliable datagrams apart, and gives each to its session.
 * Packets of no session go to {@link Admission}.
 */
final class PacketDemux {

  /** All data of a group have the conv at one place, and so has their parity: protocol.md 11.2. */
  private static final int PARITY_CONV_OFFSET = FecPacket.DATA_HEADER_BYTES;

  private final SessionTable.Handler handler;
  private final KcpCounters counters;
  private final SessionIndex index;
  private final Admission admission;
  private final FlushQueue flushQueue;
  private final ObjLongConsumer<Session> onValidated;
  private final MemoryPressure pressure;
  private final PendingEnds pendingEnds;
  private final Successors successors;

  /** What the cipher has added to each packet, in bytes. */
  private final int cipherBytes;

  private long packetsOfSessions;

  PacketDemux(
      SessionTable.Handler handler,
      KcpContext context,
      int cipherBytes,
      SessionIndex index,
      Admission admission,
      FlushQueue flushQueue,
      MemoryPressure pressure,
      PendingEnds pendingEnds,
      Successors successors,
      ObjLongConsumer<Session> onValidated) {
    this.handler = handler;
    this.counters = context.total();
    this.cipherBytes = cipherBytes;
    this.index = index;
    this.admission = admission;
    this.flushQueue = flushQueue;
    this.pressure = pressure;
    this.pendingEnds = pendingEnds;
    this.successors = successors;
    this.onValidated = onValidated;
  }

  /** How many packets have been for a session of this table. */
  long packetsOfSessions() {
    return packetsOfSessions;
  }

  /** The type of an FEC packet, or another number for plain segments. */
  static int fecType(ByteBuf packet) {
    return packet.readableBytes() < FecPacket.HEADER_BYTES
        ? 0
        : FecPacket.type(packet, packet.readerIndex());
  }

  /** Whether the size field of a data or out-of-band packet is right. */
  static boolean isSizeTrue(ByteBuf packet) {
    int bytes = packet.readableBytes();
    return bytes >= FecPacket.DATA_HEADER_BYTES
        && FecPacket.size(packet, packet.readerIndex()) == bytes - FecPacket.HEADER_BYTES;
  }

  /**
   * Takes in a decrypted packet. The buffer stays the caller's.
   *
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @param key that has opened it; null if it is not known
   */
  void receive(
      InetSocketAddress remote, ByteBuf packet, int nonceBytes, PacketKey key, long nowUs) {
    switch (fecType(packet)) {
      case FecPacket.DATA -> receiveFecData(remote, packet, nonceBytes, key, nowUs);
      case FecPacket.PARITY -> receiveParity(remote, packet, nonceBytes, nowUs);
      case FecPacket.OUT_OF_BAND -> receiveUnreliable(remote, packet, nonceBytes, nowUs);
      default -> receiveSegments(remote, packet, packet.readerIndex(), nonceBytes, key, nowUs);
    }
  }

  /**
   * Takes in the segments of a packet that begins at {@code start}, the FEC header included.
   *
   * @param nonceBytes those of the nonce before the packet, 0 if it was opened by no AEAD
   * @param key that has opened it; null if it is not known
   * @return the session that accepted them, or that may use them to recover others; else null
   */
  private Session receiveSegments(
      InetSocketAddress remote,
      ByteBuf segments,
      int start,
      int nonceBytes,
      PacketKey key,
      long nowUs) {
    if (segments.readableBytes() < Segment.HEADER_BYTES) {
      counters.add(KcpCounter.MALFORMED, 1);
      return null;
    }
    Session session = index.find(remote, Segment.conv(segments, segments.readerIndex()));
    if (session == null) {
      admission.receiveSegments(remote, segments, start, nonceBytes, nowUs);
      return null;
    }
    packetsOfSessions++;
    InputResult result = input(session, segments, Origin.NETWORK, nowUs);
    if (takeSuccessor(session)) {
      successors.receive(remote, session, segments, nowUs);
    }
    if (result != InputResult.REFLECTED) {
      countReceived(session, segments, start);
    }
    if (result == InputResult.UNPROVEN) {
      return session; // It may recover the datagram that proves it.
    }
    if (result != InputResult.ACCEPTED) {
      return null;
    }
    if (key != null && session.kcp().isLastInputFresh()) {
      index.openedBy(key, session, remote);
    }
    return session;
  }

  /** Whether the client of a session has made an offer that has begun again. */
  private static boolean takeSuccessor(Session session) {
    Extension extension = session.extension();
    return extension != null && extension.parameters().takeSuccessor();
  }

  private void receiveFecData(
      InetSocketAddress remote, ByteBuf packet, int nonceBytes, PacketKey key, long nowUs) {
    int start = packet.readerIndex();
    if (!isSizeTrue(packet)) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    packet.readerIndex(start + FecPacket.DATA_HEADER_BYTES);
    Session session = receiveSegments(remote, packet, start, nonceBytes, key, nowUs);
    if (session == null) {
      return;
    }
    if (!session.fec().isDecoding() && session.path().mayHoldPackets()) {
      session.ownFec().startDecoding();
    }
    if (session.fec().isDecoding()) {
      recover(session, packet, start, session.kcp().isLastInputFresh(), nowUs);
    }
  }

  private void receiveParity(InetSocketAddress remote, ByteBuf packet, int nonceBytes, long nowUs) {
    int start = packet.readerIndex();
    if (packet.readableBytes() < PARITY_CONV_OFFSET + Integer.BYTES) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    Session session = index.find(remote, packet.getIntLE(start + PARITY_CONV_OFFSET));
    if (session == null) {
      admission.receiveUnclaimed(packet, start, nonceBytes);
      return;
    }
    packetsOfSessions++;
    countReceived(session, packet, start);
    session.kcp().counters().add(KcpCounter.FEC_PARITY_IN, 1);
    if (session.fec().isDecoding()) {
      recover(session, packet, start, false, nowUs);
    }
  }

  private void recover(Session session, ByteBuf packet, int start, boolean isFresh, long nowUs) {
    FecLayer fec = session.fec();
    fec.input(packet, start, isFresh, nowUs);
    for (ByteBuf recovered; (recovered = fec.nextRecovered()) != null; ) {
      if (input(session, recovered, Origin.RECOVERED, nowUs) == InputResult.ACCEPTED) {
        session.kcp().counters().add(KcpCounter.FEC_RECOVERED, 1);
      }
      takeSuccessor(session); // No session begins with a recovered datagram.
    }
  }

  private void receiveUnreliable(
      InetSocketAddress remote, ByteBuf packet, int nonceBytes, long nowUs) {
    int start = packet.readerIndex();
    int payload = start + FecPacket.DATA_HEADER_BYTES + Integer.BYTES;
    if (!isSizeTrue(packet) || packet.writerIndex() < payload) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    Session session = index.find(remote, packet.getIntLE(payload - Integer.BYTES));
    if (session == null) {
      admission.receiveUnclaimed(packet, start, nonceBytes);
      return;
    }
    packetsOfSessions++;
    countReceived(session, packet, start);
    session.unreliable().receive(packet, payload, packet.writerIndex() - payload);
    session.keepAlive().updateIdle(nowUs);
    if (!session.path().isValidated()) { // Else it may be a replay.
      session.onReceived(nowUs);
    }
    flushQueue.onUnreliableDatagram(session);
  }

  private void countReceived(Session session, ByteBuf packet, int start) {
    session.path().onReceived(packet.writerIndex() - start + cipherBytes);
  }

  /** Gives segments to the session. */
  private InputResult input(Session session, ByteBuf segments, Origin origin, long nowUs) {
    InputResult result = session.kcp().input(segments, origin, nowUs);
    if (result != InputResult.ACCEPTED) {
      return result;
    }
    pressure.onInput(session, nowUs);
    boolean isProof = !session.path().isValidated() && session.isPeerProven();
    if (isProof) {
      onValidated.accept(session, nowUs);
    }
    boolean isFresh = isProof || session.kcp().isLastInputFresh();
    if (isFresh) {
      session.onReceived(nowUs);
    }
    Extension extension = session.extension();
    if (extension != null && extension.endDatagram(!isFresh, nowUs)) {
      session.kcp().reconfigure(session.kcp().config()); // Offers reserve no room any more.
    }
    if (extension != null && extension.hasNews()) {
      receiveNews(session, extension);
    }
    boolean isIdleChecked = extension != null && session.keepAlive().hasIdleTimeout();
    if (isIdleChecked && session.takeUnreliableReceived()) {
      session.keepAlive().updateIdle(nowUs);
    }
    flushQueue.onDatagram(session);
    return result;
  }

  /** What the table has to know of a session's extension: seldom more than once. */
  private void receiveNews(Session session, Extension extension) {
    if (extension.takeIdHandedOut()) {
      index.addId(session);
    }
    if (extension.items().takeEnd()) {
      pendingEnds.add(session, EndReason.SESSION_UNKNOWN);
    }
    if (extension.parameters().takeMismatch()) {
      handler.mismatched(KcpCounter.DELIVERY_MISMATCHED, session.remote());
      pendingEnds.add(session, EndReason.DELIVERY_MISMATCHED);
    }
  }
}
