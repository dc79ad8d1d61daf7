package io.kcp4j.netty.internal.udp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.socket.DatagramPacket;
import io.netty.channel.unix.Errors.NativeIoException;
import io.netty.channel.unix.SegmentedDatagramPacket;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A GSO batch that the system refuses is sent as single datagrams, and none is lost. */
class DatagramWriterTest {

  private static final int EIO = -5;
  private static final int EINVAL = -22;
  private static final int EMSGSIZE = -90;
  private static final int ECONNREFUSED = -111;

  private static final InetSocketAddress NARROW = remote(1);
  private static final InetSocketAddress WIDE = remote(2);

  private long now = 1;
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
  private final KcpCounters counters = new KcpCounters();
  private final FakeSystem system = new FakeSystem();
  private final EmbeddedChannel socket = new EmbeddedChannel(system);
  private final DatagramWriter writer = new DatagramWriter(socket, counters, 4, () -> now);

  private static InetSocketAddress remote(int port) {
    return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
  }

  private record Write(Object msg, ChannelPromise promise) {}

  /** Completes batches in their order when it is flushed, as a socket does, or fails them. */
  private static final class FakeSystem extends ChannelDuplexHandler {

    final Map<InetSocketAddress, Integer> errors = new HashMap<>();
    final List<Throwable> failures = new ArrayList<>();
    private final Queue<Write> writes = new ArrayDeque<>();
    private boolean inFlush;

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
      writes.add(new Write(msg, promise));
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
      if (inFlush) {
        return; // The loop below finds what was written meanwhile.
      }
      inFlush = true;
      for (Write write; (write = writes.poll()) != null; ) {
        if (write.msg instanceof SegmentedDatagramPacket batch
            && errors.containsKey(batch.recipient())) {
          int error = errors.get(batch.recipient());
          batch.release();
          write.promise.tryFailure(new NativeIoException("sendmmsg", error, false));
        } else {
          ctx.writeAndFlush(write.msg, write.promise);
        }
      }
      inFlush = false;
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      failures.add(cause);
    }
  }

  @BeforeAll
  static void nativeErrors() {
    assumeTrue(Epoll.isAvailable(), "epoll is not available on this system");
  }

  @AfterEach
  void nothingIsLeft() {
    socket.finishAndReleaseAll();
    assertEquals(0, allocator.metric().usedDirectMemory());
  }

  private void write(InetSocketAddress to, int... bytes) {
    ByteBuf data = allocator.directBuffer(bytes.length);
    for (int b : bytes) {
      data.writeByte(b);
    }
    writer.write(data, 2, to);
    writer.flush();
  }

  /** What has left since the last call: its recipient, and the bytes of each message. */
  private List<String> sent() {
    List<String> sent = new ArrayList<>();
    for (DatagramPacket packet; (packet = socket.readOutbound()) != null; packet.release()) {
      String to = packet.recipient() == null ? "" : packet.recipient().getPort() + ":";
      sent.add(to + ByteBufUtil.hexDump(packet.content()));
    }
    return sent;
  }

  @Test
  void batchForAWidePathIsSentWhole() {
    write(WIDE, 1, 2, 3, 4, 5);

    assertEquals(List.of("2:0102030405"), sent());
    assertEquals(0, counters.get(KcpCounter.GSO_REFUSED));
  }

  @ParameterizedTest
  @ValueSource(ints = {EMSGSIZE, EINVAL, EIO})
  void refusedBatchIsSentAsSingleDatagramsAtOnce(int error) {
    system.errors.put(NARROW, error);

    write(NARROW, 1, 2, 3, 4, 5);

    assertEquals(List.of("1:0102", "1:0304", "1:05"), sent());
    assertEquals(1, counters.get(KcpCounter.GSO_REFUSED));
    assertTrue(system.failures.isEmpty());
  }

  @Test
  void refusedBatchOfAConnectedSocketIsSentAsSingleDatagrams() {
    system.errors.put(null, EMSGSIZE);

    write(null, 1, 2, 3);

    ByteBuf first = socket.readOutbound();
    ByteBuf second = socket.readOutbound();
    assertEquals("0102", ByteBufUtil.hexDump(first));
    assertEquals("03", ByteBufUtil.hexDump(second));
    first.release();
    second.release();
    assertEquals(1, writer.maxSegments(null));
  }

  @ParameterizedTest
  @ValueSource(ints = {EMSGSIZE, EINVAL})
  void pathOfOnePeerDoesNotStopBatchesToOthers(int error) {
    system.errors.put(NARROW, error);

    write(NARROW, 1, 2, 3);

    assertEquals(1, writer.maxSegments(NARROW));
    assertEquals(4, writer.maxSegments(WIDE));
  }

  @Test
  void noMoreBatchesAreSentToADeviceThatCannotSegment() {
    system.errors.put(NARROW, EIO);

    write(NARROW, 1, 2, 3);

    assertEquals(1, writer.maxSegments(WIDE));
    now += DatagramWriter.REFUSED_US;
    assertEquals(1, writer.maxSegments(WIDE));
  }

  @Test
  void batchesAreSentAgainWhenTheSystemHasForgottenThePathMtu() {
    system.errors.put(NARROW, EMSGSIZE);
    write(NARROW, 1, 2, 3);

    now += DatagramWriter.REFUSED_US - 1;
    assertEquals(1, writer.maxSegments(NARROW));
    now++;
    assertEquals(4, writer.maxSegments(NARROW));
  }

  @Test
  void otherFailuresAreReportedAndDoNotStopBatches() {
    system.errors.put(NARROW, ECONNREFUSED);

    write(NARROW, 1, 2, 3);

    assertEquals(List.of(), sent());
    assertEquals(1, system.failures.size());
    assertEquals(0, counters.get(KcpCounter.GSO_REFUSED));
    assertEquals(4, writer.maxSegments(NARROW));
  }

  @Test
  void failedSingleDatagramDoesNotStopBatches() {
    FailingSingles failing = new FailingSingles();
    socket.pipeline().addFirst(failing);

    write(NARROW, 1, 2);

    assertEquals(4, writer.maxSegments(NARROW));
    assertEquals(0, counters.get(KcpCounter.GSO_REFUSED));
    assertSame(failing.failure, system.failures.get(0));
  }

  /** As for a datagram to port 0: EINVAL. */
  private static final class FailingSingles extends ChannelDuplexHandler {

    private final IOException failure = new NativeIoException("sendTo", EINVAL, false);

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
      ReferenceCountUtil.release(msg);
      promise.tryFailure(failure);
    }
  }

  @Test
  void batchesCompleteInTheirOrder() {
    system.errors.put(NARROW, EMSGSIZE);
    ByteBuf data = Unpooled.directBuffer().writeBytes(new byte[] {1, 2, 3});
    writer.write(data.retainedDuplicate(), 2, WIDE);
    writer.write(data, 2, NARROW);
    writer.write(data.retainedDuplicate(), 2, WIDE);
    writer.flush();

    assertEquals(List.of("2:010203", "2:010203", "1:0102", "1:03"), sent());
    assertEquals(1, writer.maxSegments(NARROW));
    assertEquals(4, writer.maxSegments(WIDE));
    assertEquals(0, data.refCnt());
  }

  @Test
  void numberOfRefusedAddressesIsLimited() {
    for (int port = 1; port <= DatagramWriter.MAX_REFUSED + 1; port++) {
      writer.refuse(remote(port));
    }

    assertEquals(4, writer.maxSegments(remote(1)), "the oldest");
    assertEquals(1, writer.maxSegments(remote(2)));
    assertEquals(1, writer.maxSegments(remote(DatagramWriter.MAX_REFUSED + 1)));
  }

  /** The sum of the parts of these addresses is the same. */
  private static InetSocketAddress colliding(int i) throws UnknownHostException {
    int high = i / 64;
    int low = i % 64;
    byte[] address = {
      0x20, 1, 0, 0, 0, 0, (byte) high, (byte) low, 0, 0, (byte) -high, (byte) -low, 0, 0, 0, 1
    };
    return new InetSocketAddress(InetAddress.getByAddress(address), 1);
  }

  /** The hash map keeps colliding addresses in a tree; with a list this would take minutes. */
  @Test
  @Timeout(30)
  void refusedAddressesThatCollideAreFoundByTheirOrder() throws UnknownHostException {
    InetSocketAddress[] remotes = new InetSocketAddress[DatagramWriter.MAX_REFUSED];
    for (int i = 0; i < remotes.length; i++) {
      remotes[i] = colliding(i);
      assertEquals(remotes[0].hashCode(), remotes[i].hashCode());
      writer.refuse(remotes[i]);
    }
    for (int round = 0; round < 100; round++) {
      assertFalse(Thread.interrupted(), round + " rounds within the timeout");
      for (InetSocketAddress remote : remotes) {
        assertEquals(1, writer.maxSegments(remote));
      }
    }
    assertEquals(4, writer.maxSegments(colliding(DatagramWriter.MAX_REFUSED)));
  }

  @Test
  void connectedSocketHasNoAddress() {
    writer.refuse(null);
    assertEquals(1, writer.maxSegments(null));
    assertEquals(4, writer.maxSegments(remote(1)));
  }
}
