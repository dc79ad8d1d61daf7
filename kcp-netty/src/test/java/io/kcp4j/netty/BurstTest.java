package io.kcp4j.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.DatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Datagrams leave in order, each to its socket and address, and the buffer is used again. */
class BurstTest {

  private static final InetSocketAddress REMOTE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);

  private static final PacketCipher PLAIN = KeyRing.NONE.newCipher();

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
  private final Burst burst = new Burst(allocator);
  private final EmbeddedChannel socket = new EmbeddedChannel();

  @AfterEach
  void nothingIsLeft() {
    burst.release();
    socket.finishAndReleaseAll();
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  private void write(EmbeddedChannel socket, InetSocketAddress remote, byte... bytes) {
    burst.to(socket, PLAIN, remote);
    burst.begin(1400).writeBytes(bytes);
    burst.end();
  }

  private static byte[] take(EmbeddedChannel socket) {
    Object datagram = socket.readOutbound();
    ByteBuf content =
        datagram instanceof DatagramPacket packet ? packet.content() : (ByteBuf) datagram;
    byte[] bytes = ByteBufUtil.getBytes(content);
    content.release();
    return bytes;
  }

  @Test
  void datagramsOfTwoSocketsDoNotMix() {
    EmbeddedChannel other = new EmbeddedChannel();
    write(socket, null, (byte) 1);
    write(other, null, (byte) 2);
    write(socket, null, (byte) 3);

    burst.flush(socket);
    burst.flush(other);

    assertArrayEquals(new byte[] {1}, take(socket));
    assertArrayEquals(new byte[] {3}, take(socket));
    assertArrayEquals(new byte[] {2}, take(other));
    assertNull(socket.readOutbound());
  }

  @Test
  void unconnectedSocketIsToldTheAddress() {
    write(socket, REMOTE, (byte) 1);

    burst.flush(socket);

    DatagramPacket packet = socket.readOutbound();
    assertSame(REMOTE, packet.recipient());
    packet.release();
  }

  @Test
  void fullBufferIsSentAndReplacedWhileItsSlicesLive() {
    int datagrams = 200;
    for (int i = 0; i < datagrams; i++) {
      burst.to(socket, PLAIN, null).begin(1400).writeZero(1399).writeByte(i);
      burst.end();
    }

    burst.flush(socket);

    for (int i = 0; i < datagrams; i++) {
      byte[] datagram = take(socket);
      assertEquals(1400, datagram.length);
      assertEquals((byte) i, datagram[1399]);
    }
  }

  @Test
  void whatIsWrittenForAClosedSocketIsDropped() {
    write(socket, null, (byte) 1);

    burst.drop(socket);
    burst.release();
    burst.flush(socket);

    assertNull(socket.readOutbound());
  }
}
