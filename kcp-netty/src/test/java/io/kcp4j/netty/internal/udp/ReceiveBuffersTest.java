package io.kcp4j.netty.internal.udp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollDatagramChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** GRO is used while datagrams arrive in batches, and otherwise tried again from time to time. */
@SuppressWarnings("deprecation") // Netty's interface names the deprecated type.
class ReceiveBuffersTest {

  private static final int GRO_BATCH_BYTES = 10 * 1400;

  private EpollDatagramChannel socket;
  private ReceiveSpace space;
  private RecvByteBufAllocator.Handle handle;

  @BeforeEach
  void openSocket() {
    assumeTrue(Epoll.isAvailable(), "epoll is not available on this system");
    socket = new EpollDatagramChannel();
    receive(/* isGroAllowed= */ true);
  }

  @AfterEach
  void closeSocket() {
    if (socket != null) {
      socket.unsafe().closeForcibly();
    }
  }

  private void receive(boolean isGroAllowed) {
    space = new ReceiveSpace();
    UdpTransport.EPOLL.receive(socket, space, isGroAllowed);
    handle = socket.config().getRecvByteBufAllocator().newHandle();
  }

  private void wakeUps(int wakeUps, int readsEach, int bytes) {
    for (int i = 0; i < wakeUps; i++) {
      handle.reset(socket.config());
      for (int read = 0; read < readsEach; read++) {
        handle.lastBytesRead(bytes);
      }
    }
    handle.reset(socket.config());
  }

  private boolean usesGro() {
    return socket.config().isUdpGro() && socket.config().getMaxDatagramPayloadSize() == 0;
  }

  private boolean usesRecvmmsg() {
    return !socket.config().isUdpGro()
        && socket.config().getMaxDatagramPayloadSize() == UdpTransport.SLOT_BYTES;
  }

  @Test
  void manySingleDatagramsAtAWakeUpEndGro() {
    assertTrue(usesGro());

    wakeUps(51, 10, 1400);
    assertTrue(usesGro());
    wakeUps(1, 10, 1400);

    assertTrue(usesRecvmmsg());
  }

  @Test
  void oneGroBatchAmongThemKeepsGro() {
    wakeUps(1, 1, GRO_BATCH_BYTES);

    wakeUps(60, 10, 1400);

    assertTrue(usesGro());
  }

  @Test
  void fewSingleDatagramsAtAWakeUpKeepGro() {
    wakeUps(2000, 1, 1400);

    assertTrue(usesGro());
  }

  @Test
  void groIsTriedAgainAfterAWhileAndKeptIfBatchesArrive() {
    wakeUps(60, 10, 1400);
    assertFalse(usesGro());

    wakeUps(410, 10, 64 * UdpTransport.SLOT_BYTES);
    assertTrue(usesGro());
    wakeUps(60, 10, GRO_BATCH_BYTES);

    assertTrue(usesGro());
  }

  /**
   * A TCP socket refuses UDP_GRO, as UDP sockets of Linux before 5.0 do. It was tried again after
   * 4,096 reads, which threw before each further read: the socket received nothing any more.
   */
  @Test
  void withoutGroRecvmmsgIsUsedForGood() {
    closeSocket();
    socket = new EpollDatagramChannel(new EpollSocketChannel().fd().intValue());
    receive(/* isGroAllowed= */ true);
    assertTrue(usesRecvmmsg());

    wakeUps(410, 10, 64 * UdpTransport.SLOT_BYTES);

    assertTrue(usesRecvmmsg());
  }

  /** Netty counts a GRO batch as one message. */
  @Test
  void batchEndsAfterALimitedNumberOfDatagramsInGroBatches() {
    for (int round = 0; round < 2; round++) {
      handle.reset(socket.config());
      for (int datagrams = 10; datagrams <= 130; datagrams += 10) {
        ByteBuf batch =
            handle.allocate(UnpooledByteBufAllocator.DEFAULT).writeZero(GRO_BATCH_BYTES);
        batch.slice(0, GRO_BATCH_BYTES).readRetainedSlice(1400).release();
        batch.release();
        handle.incMessagesRead(1);
        handle.lastBytesRead(GRO_BATCH_BYTES);
        assertEquals(datagrams < 128, continuesReading(), "after " + datagrams);
      }
    }
    space.release();
  }

  @Test
  void batchEndsAfterALimitedNumberOfSingleDatagrams() {
    handle.reset(socket.config());
    handle.lastBytesRead(1400);
    handle.incMessagesRead(127);
    assertTrue(continuesReading());
    handle.incMessagesRead(1);
    assertFalse(continuesReading());
  }

  private boolean continuesReading() {
    return ((RecvByteBufAllocator.ExtendedHandle) handle).continueReading(() -> true);
  }

  @Test
  void roomOfRecvmmsgAdaptsToTheDatagrams() {
    receive(/* isGroAllowed= */ false);
    assertEquals(8, slots());
    for (int full = 8; full < 64; full *= 2) {
      readSlots(full);
      assertEquals(2 * full, slots());
    }
    readSlots(64);
    readSlots(16);
    assertEquals(64, slots());
    readSlots(15);
    assertEquals(32, slots());
    readSlots(1);
    readSlots(1);
    readSlots(1);
    assertEquals(8, slots());
    space.release();
  }

  @Test
  void recvmmsgThatIsNotFilledEndsTheBatch() {
    receive(/* isGroAllowed= */ false);
    for (int round = 0; round < 2; round++) {
      handle.reset(socket.config());
      handle.incMessagesRead(slots());
      readSlots(slots());
      assertTrue(continuesReading());
      handle.incMessagesRead(1);
      readSlots(1);
      assertFalse(continuesReading());
    }
    space.release();
  }

  private void readSlots(int slots) {
    handle.lastBytesRead(slots * UdpTransport.SLOT_BYTES);
  }

  private int slots() {
    ByteBuf room = handle.allocate(UnpooledByteBufAllocator.DEFAULT);
    room.release();
    return room.writableBytes() / UdpTransport.SLOT_BYTES;
  }

  @Test
  void recvmmsgStaysIfGroIsNotAllowed() {
    receive(/* isGroAllowed= */ false);
    wakeUps(1000, 10, 1400);
    assertTrue(usesRecvmmsg());
  }
}
