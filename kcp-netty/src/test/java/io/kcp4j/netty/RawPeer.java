package io.kcp4j.netty;

import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;

/** A UDP socket that sends the datagrams of a test. */
public final class RawPeer implements AutoCloseable {

  private final DatagramSocket socket;

  public RawPeer(InetSocketAddress remote) throws IOException {
    this(remote, Fixture.ANY_PORT);
  }

  public RawPeer(InetSocketAddress remote, InetSocketAddress local) throws IOException {
    socket = new DatagramSocket(local);
    socket.connect(remote);
  }

  /** A segment as on the wire. */
  static byte[] segment(int conv, int cmd, int sn, byte[] payload) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, cmd, 0, 128, 1, sn, 0, payload.length);
    return ByteBufUtil.getBytes(out.writeBytes(payload));
  }

  public void send(byte[] datagram) throws IOException {
    socket.send(new DatagramPacket(datagram, datagram.length));
  }

  /** Sends a datagram; for lambdas. */
  void sendUnchecked(byte[] datagram) {
    try {
      send(datagram);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Acknowledges the next PUSH that the peer receives, which validates the peer's address. */
  byte[] acknowledgement() throws IOException {
    for (ByteBuf datagram; (datagram = receive(10_000)) != null; ) {
      int at = 0;
      while (at < datagram.readableBytes()) {
        if (Segment.cmd(datagram, at) == Segment.PUSH) {
          ByteBuf out = Unpooled.buffer();
          int sn = Segment.sn(datagram, at);
          int ts = Segment.ts(datagram, at);
          Segment.write(out, Segment.conv(datagram, at), Segment.ACK, 0, 128, ts, sn, sn + 1, 0);
          return ByteBufUtil.getBytes(out);
        }
        at += Segment.HEADER_BYTES + Segment.length(datagram, at);
      }
    }
    throw new IOException("no PUSH was received");
  }

  /** The next datagram, or null if none comes. */
  ByteBuf receive(int timeoutMs) throws IOException {
    DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
    socket.setSoTimeout(timeoutMs);
    try {
      socket.receive(packet);
    } catch (SocketTimeoutException e) {
      return null;
    }
    return Unpooled.wrappedBuffer(packet.getData(), 0, packet.getLength());
  }

  @Override
  public void close() {
    socket.close();
  }
}
