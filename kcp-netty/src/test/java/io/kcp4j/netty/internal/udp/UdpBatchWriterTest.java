package io.kcp4j.netty.internal.udp;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.unix.SegmentedDatagramPacket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Datagrams are sent in order, each to its socket and address, and the buffer is reused. */
class UdpBatchWriterTest {

  private static final InetSocketAddress REMOTE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);

  private static final PacketCipher PLAIN = KeyRing.NONE.newCipher();

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
  private final UdpBatchWriter batch = new UdpBatchWriter(allocator);
  private final EmbeddedChannel socket = new EmbeddedChannel();

  private DatagramWriter writer = writer(socket);

  private static DatagramWriter writer(EmbeddedChannel socket) {
    return writer(socket, DatagramWriter.MAX_SEGMENTS);
  }

  private static DatagramWriter writer(EmbeddedChannel socket, int maxSegments) {
    return new DatagramWriter(socket, new KcpCounters(), maxSegments, () -> 0);
  }

  @AfterEach
  void nothingIsLeft() {
    batch.release();
    socket.finishAndReleaseAll();
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  private void write(DatagramWriter writer, InetSocketAddress remote, byte... bytes) {
    batch.to(writer, PLAIN, remote);
    batch.begin(1400).writeBytes(bytes);
    batch.end();
  }

  /** A chunk of a session, with bytes 0 to 63. */
  private ByteBuf chunk() {
    ByteBuf chunk = allocator.directBuffer(64, 64);
    for (int i = 0; i < 64; i++) {
      chunk.writeByte(i);
    }
    return chunk;
  }

  private void send(ByteBuf chunk, int index, int bytes, int datagramBytes) {
    batch.to(writer, PLAIN, REMOTE).send(chunk, index, bytes, datagramBytes);
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
    DatagramWriter toOther = writer(other);
    write(writer, null, (byte) 1);
    write(toOther, null, (byte) 2);
    write(writer, null, (byte) 3);

    batch.flush(writer);
    batch.flush(toOther);

    assertArrayEquals(new byte[] {1}, take(socket));
    assertArrayEquals(new byte[] {3}, take(socket));
    assertArrayEquals(new byte[] {2}, take(other));
    assertNull(socket.readOutbound());
  }

  @Test
  void datagramOfAnUnconnectedSocketHasARecipient() {
    write(writer, REMOTE, (byte) 1);

    batch.flush(writer);

    DatagramPacket packet = socket.readOutbound();
    assertSame(REMOTE, packet.recipient());
    packet.release();
  }

  @Test
  void fullBufferIsSentAndReplacedWhileItsSlicesLive() {
    writer = writer(socket, 1);
    int datagrams = 200;
    for (int i = 0; i < datagrams; i++) {
      batch.to(writer, PLAIN, null).begin(1400).writeZero(1399).writeByte(i);
      batch.end();
    }

    batch.flush(writer);

    for (int i = 0; i < datagrams; i++) {
      byte[] datagram = take(socket);
      assertEquals(1400, datagram.length);
      assertEquals((byte) i, datagram[1399]);
    }
  }

  @Test
  void datagramsForAClosedSocketAreDropped() {
    write(writer, null, (byte) 1);

    batch.drop(writer);
    batch.release();
    batch.flush(writer);

    assertNull(socket.readOutbound());
  }

  /** The sizes of datagrams, and those in each message that is made of them. */
  static Stream<Arguments> runs() {
    return Stream.of(
        arguments("one", List.of(9), List.of(List.of(9))),
        arguments("equal ones", List.of(9, 9, 9), List.of(List.of(9, 9, 9))),
        arguments(
            "a shorter one ends a batch",
            List.of(9, 9, 5, 9),
            List.of(List.of(9, 9, 5), List.of(9))),
        arguments("two shorter ones", List.of(9, 5, 5), List.of(List.of(9, 5), List.of(5))),
        arguments(
            "a longer one begins a batch", List.of(5, 9, 9), List.of(List.of(5), List.of(9, 9))),
        arguments("as many as allowed", List.of(9, 9, 9, 9), List.of(List.of(9, 9, 9, 9))),
        arguments(
            "one more than allowed",
            List.of(9, 9, 9, 9, 9),
            List.of(List.of(9, 9, 9, 9), List.of(9))));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("runs")
  void datagramsOfOneSizeAreOneBatch(
      String name, List<Integer> datagrams, List<List<Integer>> messages) {
    writer = writer(socket, 4);
    for (int bytes : datagrams) {
      write(writer, REMOTE, new byte[bytes]);
    }

    batch.flush(writer);

    assertEquals(messages, sent());
  }

  @Test
  void datagramsOfAChunkAreSplitIntoBatches() {
    writer = writer(socket, 4);
    ByteBuf chunk = chunk();
    send(chunk, 3, 4 * 9 + 2 * 9 + 5, 9);
    send(chunk, 60, 2, 2);
    chunk.release(); // The session has closed.

    batch.flush(writer);

    assertEquals(List.of(List.of(9, 9, 9, 9), List.of(9, 9, 5), List.of(2)), sent());
  }

  private List<List<Integer>> sent() {
    List<List<Integer>> sent = new ArrayList<>();
    for (DatagramPacket message; (message = socket.readOutbound()) != null; message.release()) {
      assertSame(REMOTE, message.recipient());
      sent.add(segments(message));
    }
    return sent;
  }

  private static List<Integer> segments(DatagramPacket message) {
    int left = message.content().readableBytes();
    int size = message instanceof SegmentedDatagramPacket batch ? batch.segmentSize() : left;
    List<Integer> segments = new ArrayList<>();
    for (; left > 0; left -= size) {
      segments.add(Math.min(size, left));
    }
    return segments;
  }

  @Test
  void datagramsOfChunksAndTheBufferKeepTheirOrder() {
    ByteBuf chunk = chunk();
    ByteBuf other = chunk();
    send(chunk, 10, 2, 2);
    send(other, 12, 2, 2);
    send(chunk, 12, 2, 1);
    write(writer, REMOTE, (byte) 1);
    write(writer, REMOTE, (byte) 2);
    send(chunk, 14, 2, 2);
    batch.to(writer, PLAIN, null).send(chunk, 19, 2, 2);
    chunk.release();
    other.release();

    batch.flush(writer);

    assertArrayEquals(new byte[] {10, 11}, take(socket));
    assertArrayEquals(new byte[] {12, 13}, take(socket));
    assertArrayEquals(new byte[] {12, 13}, take(socket));
    assertArrayEquals(new byte[] {1, 2}, take(socket));
    assertArrayEquals(new byte[] {14, 15}, take(socket));
    assertArrayEquals(new byte[] {19, 20}, take(socket));
    assertNull(socket.readOutbound());
  }

  @Test
  void runIsSentByItsOwnSocket() {
    EmbeddedChannel other = new EmbeddedChannel();
    DatagramWriter toOther = writer(other);
    ByteBuf chunk = chunk();
    send(chunk, 0, 2, 2);
    batch.to(toOther, PLAIN, REMOTE).send(chunk, 2, 2, 2);
    chunk.release();

    batch.flush(toOther);
    batch.flush(writer);

    assertArrayEquals(new byte[] {0, 1}, take(socket));
    assertArrayEquals(new byte[] {2, 3}, take(other));
  }

  @Test
  void chunksAreFlushedAfterTwoMegabytes() {
    ByteBuf chunk = allocator.directBuffer(46 * 1400).writeZero(46 * 1400);
    for (int run = 0; run < 33; run++) {
      batch.to(writer, PLAIN, REMOTE).send(chunk, 0, 46 * 1400, 1400);
    }
    chunk.release();

    for (int run = 0; run < 32; run++) {
      assertEquals(46 * 1400, take(socket).length);
    }
    assertNull(socket.readOutbound());
    batch.flush(writer);
    assertEquals(46 * 1400, take(socket).length);
  }

  @Test
  void datagramsOfTwoPeersAreSentSeparately() {
    InetSocketAddress other = new InetSocketAddress(REMOTE.getAddress(), 2);
    write(writer, REMOTE, (byte) 1);
    write(writer, other, (byte) 2);
    write(writer, REMOTE, (byte) 3);

    batch.flush(writer);

    assertArrayEquals(new byte[] {1}, take(socket));
    assertArrayEquals(new byte[] {2}, take(socket));
    assertArrayEquals(new byte[] {3}, take(socket));
  }

  @Test
  void batchIsNotLargerThanTheLargestUdpPayload() {
    for (int i = 0; i < 64; i++) {
      write(writer, REMOTE, new byte[1400]);
    }

    batch.flush(writer);

    assertEquals(46 * 1400, take(socket).length);
    assertEquals(18 * 1400, take(socket).length);
    assertNull(socket.readOutbound());
  }

  @Test
  void abortedDatagramDoesNotPrecedeTheNext() {
    InetSocketAddress other = new InetSocketAddress(REMOTE.getAddress(), 2);
    batch.to(writer, PLAIN, REMOTE).begin(1400).writeBytes(new byte[] {1, 2, 3});
    // An exception prevents its end.
    write(writer, other, (byte) 9);

    batch.flush(writer);

    DatagramPacket packet = socket.readOutbound();
    assertSame(other, packet.recipient());
    assertArrayEquals(new byte[] {9}, ByteBufUtil.getBytes(packet.content()));
    packet.release();
    assertNull(socket.readOutbound());
  }

  @Test
  void packetsThatCouldNotBeSealedAreNotSent() {
    PacketCipher broken = KeyRing.of(PacketKey.ofAead("broken", BrokenAead::new)).newCipher();
    batch.to(writer, broken, REMOTE).begin(1400).writeZero(64);
    batch.end();

    assertThrows(IllegalStateException.class, () -> batch.flush(writer));
    write(writer, REMOTE, (byte) 9);
    batch.flush(writer);

    assertArrayEquals(new byte[] {9}, take(socket));
    assertNull(socket.readOutbound());
  }

  private static final class BrokenAead implements Aead {
    @Override
    public int nonceBytes() {
      return 12;
    }

    @Override
    public int tagBytes() {
      return 16;
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      throw new IllegalStateException("sealing failed");
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      return false;
    }
  }
}
