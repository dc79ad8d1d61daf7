package io.kcp4j.internal.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** {@link ExtensionMessage}: random bytes that answers to queries repeat. */
class ExtensionMessageTest {

  /** Who knows one of the tokens, or an earlier echo, cannot compute the next one. */
  @Test
  void bytesFollowFromBothTokensAndTheNumber() {
    ExtensionMessage.Echo echo = ExtensionMessage.Echo.of(1, 2, 3);
    assertEquals(echo, ExtensionMessage.Echo.of(1, 2, 3));
    assertNotEquals(echo, ExtensionMessage.Echo.of(9, 2, 3));
    assertNotEquals(echo, ExtensionMessage.Echo.of(1, 9, 3));
    Set<Long> halves = new HashSet<>();
    for (int number = 0; number < 100; number++) {
      ExtensionMessage.Echo each = ExtensionMessage.Echo.of(1, 2, number);
      halves.add(each.first());
      halves.add(each.second());
    }
    assertEquals(200, halves.size());
  }

  @Test
  void echoIsReadBehindTheValueOfItsItem() {
    ExtensionMessage.Echo echo = new ExtensionMessage.Echo(5, 6);
    ByteBuf out = Unpooled.buffer().writeByte(0);
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.PATH_CHALLENGE, echo);
    out.writeLongLE(7);
    ExtensionMessage.Echo.write(out, echo);
    assertEquals(echo, ExtensionMessage.Echo.read(out, 1));
    assertEquals(out.writerIndex(), 1 + ExtensionMessage.itemBytesAt(out, 1));
  }

  @Test
  void itemWithoutAnEchoHasNone() {
    ByteBuf out = Unpooled.buffer();
    ExtensionMessage.writeItemHeader(out, ExtensionMessage.PATH_CHALLENGE, null);
    ExtensionMessage.Echo.write(out.writeLongLE(7), null);
    out.writeZero(ExtensionMessage.Echo.BYTES); // Of another item.
    assertNull(ExtensionMessage.Echo.read(out, 0));
  }
}
