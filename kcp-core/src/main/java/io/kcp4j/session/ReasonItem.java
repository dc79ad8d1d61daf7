package io.kcp4j.session;

import io.kcp4j.CloseReason;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The items REASON and REFUSED, whose value is a code and a text: protocol.md 13.4 and 13.10. */
final class ReasonItem {

  /** The bits that tell the second and further bytes of a character in UTF-8, and their value. */
  private static final int CONTINUATION_MASK = 0xc0;

  private static final int CONTINUATION = 0x80;

  private ReasonItem() {}

  /** The size of an item with the longest text. */
  static int maxBytes(int type) {
    return ExtensionMessage.itemBytes(type) + CloseReason.MAX_TEXT_BYTES;
  }

  /** The bytes of a text, cut between characters if there are more than {@code maxBytes}. */
  static byte[] text(CloseReason reason, int maxBytes) {
    byte[] text = reason.text().getBytes(StandardCharsets.UTF_8);
    int bytes = Math.min(text.length, maxBytes);
    while (bytes > 0 && bytes < text.length && (text[bytes] & CONTINUATION_MASK) == CONTINUATION) {
      bytes--;
    }
    return Arrays.copyOf(text, bytes);
  }

  /** Writes an item. */
  static void write(ByteBuf out, int type, int code, byte[] text) {
    out.writeByte(type).writeShortLE(Integer.BYTES + text.length).writeIntLE(code);
    out.writeBytes(text);
  }

  /** Reads the valid item at {@code index}. Bytes that are not UTF-8 become question marks. */
  static CloseReason read(ByteBuf buf, int index) {
    int textIndex = index + ExtensionMessage.ITEM_HEADER_BYTES + Integer.BYTES;
    byte[] text = new byte[index + ExtensionMessage.itemBytesAt(buf, index) - textIndex];
    buf.getBytes(textIndex, text);
    return new CloseReason(ExtensionMessage.intValue(buf, index), decode(text));
  }

  private static String decode(byte[] text) {
    try {
      return StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPLACE)
          .onUnmappableCharacter(CodingErrorAction.REPLACE)
          .replaceWith("?")
          .decode(ByteBuffer.wrap(text))
          .toString();
    } catch (CharacterCodingException e) {
      throw new AssertionError(e); // Replaced instead.
    }
  }
}
