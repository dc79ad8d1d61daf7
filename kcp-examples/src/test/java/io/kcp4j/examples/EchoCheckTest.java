package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EchoCheckTest {

  private static final byte[] DATA = {1, 2, 3, 4, 5, 6, 7};

  private final EchoCheck check = new EchoCheck();
  private final EmbeddedChannel channel = new EmbeddedChannel(check);

  @AfterEach
  void close() {
    channel.finishAndReleaseAll();
  }

  @Test
  void echoMayBeSplitAtEveryByte() {
    for (int cut = 0; cut <= DATA.length; cut++) {
      write(DATA);
      channel.writeInbound(Unpooled.copiedBuffer(DATA, 0, cut));
      channel.writeInbound(Unpooled.copiedBuffer(DATA, cut, DATA.length - cut));
      assertEquals((cut + 1L) * DATA.length, check.checkedBytes());
    }
    assertFalse(check.done().isDone());
    check.allWritten();
    assertTrue(check.done().isSuccess());
  }

  @Test
  void oneReadMayEchoManyWrites() {
    write(DATA);
    write(DATA);
    check.allWritten();
    assertFalse(check.done().isDone());
    channel.writeInbound(Unpooled.wrappedBuffer(DATA, DATA));
    assertTrue(check.done().isSuccess());
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3, 6})
  void differenceIsReportedWithItsOffset(int index) {
    write(DATA);
    byte[] wrong = DATA.clone();
    wrong[index] = 0x7f;
    channel.writeInbound(Unpooled.wrappedBuffer(wrong));
    assertEquals(
        String.format("byte %d was echoed as 0x7f, but 0x%02x was sent", index, DATA[index]),
        check.done().cause().getMessage());
    assertFalse(channel.isOpen());
  }

  @Test
  void excessByteFails() {
    write(DATA);
    channel.writeInbound(Unpooled.wrappedBuffer(DATA, new byte[1]));
    assertEquals("more bytes were echoed than the 7 bytes sent", check.done().cause().getMessage());
  }

  @Test
  void sessionThatClosesEarlyFails() {
    write(DATA);
    channel.close();
    assertFalse(check.done().isSuccess());
    assertTrue(check.done().isDone());
  }

  private void write(byte[] data) {
    ByteBuf buf = Unpooled.copiedBuffer(data);
    channel.writeOutbound(buf);
    channel.<ByteBuf>readOutbound().release();
    assertEquals(1, buf.refCnt()); // Kept for the comparison.
  }
}
