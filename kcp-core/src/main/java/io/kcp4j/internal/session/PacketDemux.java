package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.admission.Admission;
import io.kcp4j.internal.admission.Incoming;
import io.kcp4j.internal.admission.UnclaimedPackets;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Tells segments, FEC data, parity and unreliable datagrams apart, and gives each to its session by
 * the {@link SessionDriver}. Packets of no session go to {@link UnclaimedPackets}.
 */
final class PacketDemux {

  /** All data of a group have the conv at one place, and so has their parity: protocol.md 11.2. */
  private static final int PARITY_CONV_OFFSET = FecPacket.DATA_HEADER_BYTES;

  private final KcpCounters counters;
  private final SessionIndex index;
  private final SessionDriver driver;
  private final Admission admission;
  private final UnclaimedPackets unclaimed;

  /** What the cipher has added to each packet, in bytes. */
  private final int cipherBytes;

  private long packetsOfSessions;

  PacketDemux(
      KcpCounters counters,
      SessionIndex index,
      SessionDriver driver,
      Admission admission,
      UnclaimedPackets unclaimed,
      int cipherBytes) {
    this.counters = counters;
    this.index = index;
    this.driver = driver;
    this.admission = admission;
    this.unclaimed = unclaimed;
    this.cipherBytes = cipherBytes;
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
   * @return the attempt that the packet makes to begin a session, to be given to the driver by
   *     {@link Admission#offer}; null if it makes none
   */
  Incoming receive(
      InetSocketAddress remote, ByteBuf packet, int nonceBytes, PacketKey key, long nowUs) {
    int start = packet.readerIndex();
    switch (fecType(packet)) {
      case FecPacket.DATA -> {
        if (isSizeTrue(packet)) {
          packet.readerIndex(start + FecPacket.DATA_HEADER_BYTES);
          return receiveSegments(remote, packet, start, nonceBytes, key, nowUs);
        }
        counters.add(KcpCounter.FEC_REFUSED, 1);
      }
      case FecPacket.PARITY -> receiveParity(remote, packet, nonceBytes, nowUs);
      case FecPacket.OUT_OF_BAND -> receiveUnreliable(remote, packet, nonceBytes, nowUs);
      default -> {
        return receiveSegments(remote, packet, start, nonceBytes, key, nowUs);
      }
    }
    return null;
  }

  /**
   * Takes in the segments of a packet that begins at {@code start}, before the header of FEC if it
   * has one.
   */
  private Incoming receiveSegments(
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
      return unclaimed.receiveSegments(remote, segments, start, nonceBytes, nowUs);
    }
    packetsOfSessions++;
    boolean hasFec = segments.readerIndex() > start;
    InputResult result = driver.input(session, segments, Origin.NETWORK, nowUs);
    if (SessionDriver.takeSuccessor(session)) {
      admission.receiveSuccessor(remote, session, segments, nowUs);
    }
    if (result != InputResult.REFLECTED) {
      countReceived(session, segments, start);
    }
    if (result == InputResult.ACCEPTED && key != null && session.kcp().isLastInputFresh()) {
      index.openedBy(key, session, remote);
    }
    // A packet that proves nothing may recover the datagram that does.
    if (hasFec && (result == InputResult.ACCEPTED || result == InputResult.UNPROVEN)) {
      driver.inputFecData(session, segments, start, nowUs);
    }
    return null;
  }

  private void receiveParity(InetSocketAddress remote, ByteBuf packet, int nonceBytes, long nowUs) {
    int start = packet.readerIndex();
    if (packet.readableBytes() < PARITY_CONV_OFFSET + Integer.BYTES) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
      return;
    }
    Session session = index.find(remote, packet.getIntLE(start + PARITY_CONV_OFFSET));
    if (session == null) {
      unclaimed.receive(packet, start, nonceBytes);
      return;
    }
    packetsOfSessions++;
    countReceived(session, packet, start);
    session.kcp().counters().add(KcpCounter.FEC_PARITY_IN, 1);
    driver.inputFec(session, packet, start, false, nowUs);
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
      unclaimed.receive(packet, start, nonceBytes);
      return;
    }
    packetsOfSessions++;
    countReceived(session, packet, start);
    driver.inputUnreliable(session, packet, payload, nowUs);
  }

  private void countReceived(Session session, ByteBuf packet, int start) {
    session.path().onReceived(packet.writerIndex() - start + cipherBytes);
  }
}
