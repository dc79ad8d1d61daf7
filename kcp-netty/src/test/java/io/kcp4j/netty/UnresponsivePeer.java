package io.kcp4j.netty;

import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetSocketAddress;

/** A socket that receives datagrams and sends none, except when the test asks for it. */
public final class UnresponsivePeer implements AutoCloseable {

  private final DatagramSocket socket = new DatagramSocket(Fixture.ANY_PORT);

  public UnresponsivePeer() throws IOException {}

  public InetSocketAddress address() {
    return (InetSocketAddress) socket.getLocalSocketAddress();
  }

  /** Acknowledges the segment of the next datagram. */
  void acknowledge() throws IOException {
    DatagramPacket packet = new DatagramPacket(new byte[2048], 2048);
    socket.receive(packet);
    ByteBuf push = Unpooled.wrappedBuffer(packet.getData());
    ByteBuf ack = Unpooled.buffer();
    int ts = Segment.ts(push, 0);
    int sn = Segment.sn(push, 0);
    Segment.write(ack, Segment.conv(push, 0), Segment.ACK, 0, 128, ts, sn, sn + 1, 0);
    byte[] bytes = ByteBufUtil.getBytes(ack);
    socket.send(new DatagramPacket(bytes, bytes.length, packet.getSocketAddress()));
  }

  @Override
  public void close() {
    socket.close();
  }
}
