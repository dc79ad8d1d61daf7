package io.kcp4j.netty.internal.udp;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.IllegalReferenceCountException;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** Reads share one memory as long as none of it is retained. */
class ReceiveSpaceTest {

  private static final int ROOM = ReceiveBuffers.MAX_SLOTS * UdpTransport.SLOT_BYTES;

  private final ReceiveSpace space = new ReceiveSpace();

  private ByteBuf read(int bytes) {
    ByteBuf read = space.acquire(ROOM);
    for (int i = 0; i < bytes; i++) {
      read.writeByte(i);
    }
    return read;
  }

  @Test
  void readHasTheRequestedRoom() {
    ByteBuf read = space.acquire(3000);
    assertEquals(0, read.readableBytes());
    assertEquals(3000, read.writableBytes());
    read.release();
    space.release();
  }

  @Test
  void datagramsAreSlicesOfTheSpace() {
    ByteBuf read = read(300);
    ByteBuf datagram = read.retainedSlice(100, 50);
    assertEquals(50, ReceiveSpace.datagramBytes(datagram));
    assertEquals(0, space.datagramsOfGroBatches());
    datagram.skipBytes(1);
    ByteBuf located = space.locate(datagram);
    assertSame(read, located);
    assertEquals(101, located.readerIndex());
    assertEquals(datagram, located);
    datagram.release();
    read.release();
    assertEquals(1, read.refCnt());
    space.release();
    assertEquals(0, read.refCnt());
  }

  @Test
  void groBatchIsReadWhole() {
    ByteBuf read = read(300);
    // As Netty reads each datagram of a batch.
    ByteBuf received = read.retainedSlice(20, 280);
    ByteBuf batch = received.readRetainedSlice(100);
    assertEquals(0, received.readableBytes());
    assertEquals(read.slice(20, 280), batch);
    assertEquals(100, ReceiveSpace.datagramBytes(batch));
    assertEquals(3, space.datagramsOfGroBatches());
    ByteBuf located = space.locate(batch);
    assertSame(read, located);
    assertEquals(20, located.readerIndex());
    assertEquals(300, located.writerIndex());
    received.release();
    read.release();
    assertEquals(2, read.refCnt());
    batch.release();
    assertEquals(1, read.refCnt());
    space.release();
    assertEquals(0, read.refCnt());
  }

  @Test
  void nextReadUsesTheSameMemory() {
    ByteBuf first = space.acquire(ROOM).writeInt(1);
    first.release();
    ByteBuf second = space.acquire(ROOM);
    assertSame(first, second);
    assertEquals(0, second.readableBytes());
    second.release();
    space.release();
  }

  @Test
  void retainedBufferKeepsItsContent() {
    ByteBuf first = space.acquire(ROOM).writeInt(0x01020304);
    ByteBuf kept = first.readRetainedSlice(4);
    first.release();
    ByteBuf second = space.acquire(ROOM).writeInt(-1);
    assertNotSame(first, second);
    assertEquals(0x01020304, kept.getInt(0));
    assertSame(kept, space.locate(kept), "a datagram of another space");
    second.release();
    kept.release();
    assertEquals(0, first.refCnt());
    space.release();
    assertEquals(0, second.refCnt());
  }

  @Test
  void addressIsFoundWithoutAllocation() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    ByteBuf read = read(100);
    assumeTrue(read.hasMemoryAddress());
    ByteBuf datagram = read.retainedSlice(20, 50);
    assertEquals(20, datagram.memoryAddress() - read.memoryAddress());
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 1_000; i++) {
      datagram.memoryAddress();
    }
    long allocated = threads.getCurrentThreadAllocatedBytes() - before;

    assertTrue(allocated < 10_000, allocated + " bytes");

    datagram.release();
    read.release();
    space.release();
    assertThrows(IllegalReferenceCountException.class, read::memoryAddress);
  }

  @Test
  void otherBuffersAreReturnedUnchanged() {
    ByteBuf heap = Unpooled.wrappedBuffer(new byte[4]);
    assertSame(heap, space.locate(heap));
    ByteBuf slice = UnpooledByteBufAllocator.DEFAULT.directBuffer(8).writeLong(0).slice(4, 4);
    assertSame(slice, space.locate(slice));
    slice.release();
  }
}
