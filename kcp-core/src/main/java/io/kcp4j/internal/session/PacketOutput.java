package io.kcp4j.internal.session;

import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * Makes packets of the datagrams of a session: leaves room for the cipher at both ends, writes the
 * FEC header, and writes parity when a group is full. The driver seals the packets.
 */
final class PacketOutput implements DatagramOutput {

  /** What precedes the payload of an unreliable datagram. */
  static final int UNRELIABLE_HEADER_BYTES = FecPacket.DATA_HEADER_BYTES + Integer.BYTES;

  private PacketCipher cipher;
  private DatagramOutput output;
  private Path path;
  private FecLayer fec;
  private long nowUs;
  private int mtuBytes;

  private ByteBuf packet;

  /** Where the part of the packet begins that the cipher will seal. */
  private int index;

  /** The room for a header of FEC in the packet. */
  private int headerBytes;

  /** The bytes of parity, copies and fillers. */
  private int addedBytes;

  /** The bytes of unreliable datagrams. */
  private int unpacedBytes;

  PacketOutput(PacketCipher cipher) {
    this.cipher = cipher;
  }

  void cipher(PacketCipher cipher) {
    this.cipher = cipher;
  }

  /**
   * Sets the session whose datagrams are written from now on.
   *
   * @param path counts what is sent
   * @param mtuBytes the size of the largest packet
   */
  PacketOutput to(DatagramOutput output, Path path, FecLayer fec, int mtuBytes, long nowUs) {
    this.output = output;
    this.path = path;
    this.fec = fec;
    this.mtuBytes = mtuBytes;
    this.nowUs = nowUs;
    addedBytes = 0;
    unpacedBytes = 0;
    return this;
  }

  @Override
  public int splitFlush(int sn, int bytes, int datagramBytes, int maxDatagrams) {
    return fec.splitFlush(sn, bytes, datagramBytes, maxDatagrams, nowUs);
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    headerBytes = fec.headerBytes();
    beginPacket(headerBytes + maxBytes);
    return packet.writerIndex(index + headerBytes);
  }

  @Override
  public void end() {
    int parity = 0;
    if (headerBytes > 0) {
      int payload = index + headerBytes;
      if (fits() && fec.isProtected(packet, payload)) {
        parity = fec.protect(packet, index, nowUs);
      } else {
        dropHeader(payload);
      }
    } else if (fec.isCopying()) {
      fec.keepCopy(packet, index, nowUs);
    }
    endPacket();
    addedBytes += parity(parity);
  }

  /**
   * Writes parity, and returns its bytes. A path that is not validated gets none: there is little
   * that may be sent.
   */
  private int parity(int packets) {
    int bytes = 0;
    for (int i = 0; i < packets && path.isValidated(); i++) {
      beginPacket(fec.parityBytes());
      fec.writeParity(i, packet);
      bytes += endPacket();
    }
    return bytes;
  }

  @Override
  public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
    if (cipher.isUnencrypted() && fec.headerBytes() == 0 && !fec.isCopying()) {
      path.onSent(bytes);
      output.send(data, index, bytes, datagramBytes);
    } else {
      DatagramOutput.super.send(data, index, bytes, datagramBytes);
    }
  }

  @Override
  public void endFlush() {
    fec.endFlush(nowUs);
    repair();
    output.endFlush();
  }

  /** Writes what FEC adds when it is due: copies of datagrams, and fillers that end a group. */
  void repair() {
    for (int bytes; (bytes = fec.dueCopyBytes(nowUs)) > 0; ) {
      beginPacket(bytes);
      fec.writeCopy(packet, nowUs);
      addedBytes += endPacket();
    }
    if (fec.isGroupDue(nowUs)) {
      endGroup();
    }
  }

  /** Fills a group that a flush has left incomplete, so that its parity leaves. */
  void endGroup() {
    while (fec.isGroupOpen()) {
      beginPacket(FecPacket.DATA_HEADER_BYTES + Segment.HEADER_BYTES);
      fec.writeFiller(packet.writerIndex(index + FecPacket.DATA_HEADER_BYTES));
      int parity = fec.protect(packet, index, nowUs);
      addedBytes += endPacket();
      addedBytes += parity(parity);
    }
  }

  /** Whether the path allows for a packet of so many bytes, without those of the cipher. */
  boolean isAllowed(int bytes) {
    return path.isValidated()
        || cipher.headroom() + bytes + cipher.tailroom() <= path.allowanceBytes();
  }

  /** Writes an unreliable datagram: protocol.md 12. */
  void unreliable(int conv, OutboundMessage payload) {
    beginPacket(UNRELIABLE_HEADER_BYTES + payload.bytes());
    packet.writerIndex(index + FecPacket.DATA_HEADER_BYTES).writeIntLE(conv);
    payload.copy(packet);
    FecPacket.write(
        packet, index, packet.writerIndex(), FecPacket.OUT_OF_BAND_SEQID, FecPacket.OUT_OF_BAND);
    unpacedBytes += endPacket();
  }

  /** Writes an unreliable datagram in a message of the extension: protocol.md 13.7. */
  void unreliable(Session session, int sn, OutboundMessage payload) {
    int bytes = UnreliableQueues.MESSAGE_HEADER_BYTES + payload.bytes();
    beginPacket(bytes);
    session.kcp().writeMessageHeader(packet, bytes - Segment.HEADER_BYTES, nowUs);
    ExtensionMessage.writeHeader(packet);
    ExtensionMessage.write(packet, ExtensionMessage.TOKEN, session.extension().peerToken());
    ExtensionMessage.writeDatagram(packet, sn, payload);
    unpacedBytes += endPacket();
  }

  /** The bytes that FEC has added since {@link #to}: parity, copies and fillers. */
  int addedBytes() {
    return addedBytes;
  }

  /** The bytes of unreliable datagrams since {@link #to}. */
  int unpacedBytes() {
    return unpacedBytes;
  }

  private void beginPacket(int bytes) {
    packet = output.begin(cipher.headroom() + bytes + cipher.tailroom());
    index = packet.writerIndex() + cipher.headroom();
    packet.writerIndex(index);
  }

  /** Returns the size of the packet, in bytes. */
  private int endPacket() {
    int end = packet.writerIndex() + cipher.tailroom();
    packet.writerIndex(end);
    output.end();
    int bytes = end - index + cipher.headroom();
    path.onSent(bytes);
    return bytes;
  }

  /**
   * Whether the packet is within the MTU. It is not if its segment was cut before FEC was switched
   * on, or for a larger MTU; parity would be as long.
   */
  private boolean fits() {
    return packet.writerIndex() + cipher.tailroom() - index + cipher.headroom() <= mtuBytes;
  }

  /**
   * Removes the FEC header. Acknowledgements alone are not protected, nor is a packet that would be
   * too large.
   */
  private void dropHeader(int payload) {
    int bytes = packet.writerIndex() - payload;
    packet.setBytes(index, packet, payload, bytes);
    packet.writerIndex(index + bytes);
  }
}
