package io.kcp4j.netty;

import io.kcp4j.Segment;
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
final class RawPeer implements AutoCloseable {

  private final DatagramSocket socket;

  RawPeer(InetSocketAddress remote) throws IOException {
    socket = new DatagramSocket(Fixture.ANY_PORT);
    socket.connect(remote);
  }

  /** A segment as on the wire. */
  static byte[] segment(int conv, int cmd, int sn, byte[] payload) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, cmd, 0, 128, 1, sn, 0, payload.length);
    return ByteBufUtil.getBytes(out.writeBytes(payload));
  }

  void send(byte[] datagram) throws IOException {
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
