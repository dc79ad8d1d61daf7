package io.kcp4j.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import org.junit.jupiter.api.Test;

/** Reads share one memory for as long as nobody keeps any of it. */
class ReceiveSpaceTest {

  private final ReceiveSpace space = new ReceiveSpace();

  @Test
  void datagramsAreRangesOfTheWhole() {
    ByteBuf read = space.acquire();
    for (int i = 0; i < 300; i++) {
      read.writeByte(i);
    }
    // As Netty cuts a train: all that was read, and each datagram of that.
    ByteBuf train = read.retainedSlice(0, 300).skipBytes(100);
    ByteBuf datagram = train.readRetainedSlice(50).skipBytes(1);
    ByteBuf located = space.locate(datagram);
    assertSame(read, located);
    assertEquals(101, located.readerIndex());
    assertEquals(datagram, located);
    train.release();
    datagram.release();
    read.release();
    assertEquals(1, read.refCnt());
    space.release();
    assertEquals(0, read.refCnt());
  }

  @Test
  void theSameMemoryServesTheNextRead() {
    ByteBuf first = space.acquire().writeInt(1);
    first.release();
    ByteBuf second = space.acquire();
    assertSame(first, second);
    assertEquals(0, second.readableBytes());
    second.release();
    space.release();
  }

  @Test
  void whatSomebodyKeepsStaysAsItIs() {
    ByteBuf first = space.acquire().writeInt(0x01020304);
    ByteBuf kept = first.readRetainedSlice(4);
    first.release();
    ByteBuf second = space.acquire().writeInt(-1);
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
  void buffersOfOthersAreLeftAlone() {
    ByteBuf heap = Unpooled.wrappedBuffer(new byte[4]);
    assertSame(heap, space.locate(heap));
    ByteBuf slice = UnpooledByteBufAllocator.DEFAULT.directBuffer(8).writeLong(0).slice(4, 4);
    assertSame(slice, space.locate(slice));
    slice.release();
  }
}
