package io.kcp4j.internal.extension;

import io.kcp4j.CloseReason;
import io.kcp4j.internal.crypto.SipHash;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.kcp4j.internal.lanes.UnreliableLanes;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The format of the extension's messages: protocol.md 13.2. A message is a header and items:
 *
 * <pre>
 *   0 magic 1 | version 1
 *   then for each item: type 1 | length 2 | value (length bytes)
 * </pre>
 */
public final class ExtensionMessage {

  public static final int HEADER_BYTES = 2;
  public static final int ITEM_HEADER_BYTES = 3;

  /** No index. */
  public static final int NONE = -1;

  private static final int MAGIC = 0x4b;
  private static final int VERSION = 1;

  // Types of items.

  /** A client offers the extension. Value: the token that messages to it have to show. */
  public static final int OFFER = 1;

  /** A server answers an offer. Value: the token that messages to it have to show. */
  static final int ANSWER = 2;

  /** Value: the token of the receiver. Items behind it count only if it is the right one. */
  public static final int TOKEN = 3;

  /** The sender has finished sending. Value: the sequence number after its last segment. */
  public static final int FIN = 4;

  /** The same, and the sender reads no more. */
  public static final int CLOSE = 5;

  /** The sender has aborted the session. Value: a code of the application. */
  public static final int RESET = 6;

  /** A FIN, CLOSE or RESET has been received. Value: its type. */
  static final int END_ACK = 7;

  /** Behind an answer. Value: the id of the session, 8 bytes, and its reset token. */
  static final int SESSION = 8;

  // To a peer that has RESET_ECHO, the values of the next two and of a PATH_CHALLENGE that answers
  // a query go on with an Echo.

  /** A client has received nothing. Value: the id, and the una to show in an answer, 4 bytes. */
  public static final int SESSION_QUERY = 9;

  /** The answer of a server that does not know the session. Value: the reset token. */
  public static final int STATELESS_RESET = 10;

  /** The answer of a server under pressure to an offer. Value: the token to offer instead. */
  public static final int RETRY = 11;

  /** Is to be answered by a response with the same value, a random number. */
  public static final int PATH_CHALLENGE = 12;

  public static final int PATH_RESPONSE = 13;

  /** An unreliable datagram. Value: its sequence number, 4 bytes, and its payload. */
  public static final int DATAGRAM = 14;

  /** Of an offer or an answer: the sender has lanes. Value: how many, 2 bytes, and its budget. */
  static final int LANES = 15;

  /** What the sender says about itself. Value: see {@link Parameters}; the rest is ignored. */
  public static final int PARAMETERS = 18;

  // The types 16, 17, 19 and 20 are those of UnreliableLanes.

  /** The sender has given up closing. Value: the sequence number after its last segment. */
  public static final int CLOSE_FAILED = 21;

  /** Behind a CLOSE. Value: what the application says about it, a code of 4 bytes and a text. */
  static final int REASON = 22;

  /** A server that accepts no session of the client answers its offer. Value: as of REASON. */
  public static final int REFUSED = 23;

  /** The answer of a side that has ended the session. No value. */
  public static final int ENDED = 24;

  /** What the value of a DATAGRAM has before the payload. */
  static final int DATAGRAM_SN_BYTES = 4;

  /** The size of the value of each type, the least where it varies; index 0 is not used. */
  private static final int[] VALUE_BYTES = {
    0,
    8,
    8,
    8,
    4,
    4,
    4,
    1,
    Long.BYTES + ResetTokens.BYTES,
    Long.BYTES + 4,
    ResetTokens.BYTES,
    8,
    8,
    8,
    DATAGRAM_SN_BYTES,
    Short.BYTES + Integer.BYTES,
    UnreliableLanes.VALUE_HEADER_BYTES,
    UnreliableLanes.VALUE_HEADER_BYTES,
    Integer.BYTES + 1 + Short.BYTES,
    UnreliableLanes.VALUE_HEADER_32_BYTES,
    UnreliableLanes.VALUE_HEADER_32_BYTES,
    4,
    4,
    4,
    0
  };

  /** The size of an offer. */
  public static final int OFFER_BYTES = HEADER_BYTES + itemBytes(OFFER);

  /** The size of a message with everything that a server may have to say at once. */
  static final int MAX_BYTES =
      HEADER_BYTES
          + itemBytes(TOKEN)
          + itemBytes(ANSWER)
          + itemBytes(SESSION)
          + itemBytes(PARAMETERS)
          + itemBytes(END_ACK)
          + itemBytes(RESET)
          + itemBytes(PATH_RESPONSE);

  private ExtensionMessage() {}

  /** The size of an item of a known type, its header included, without payload. */
  public static int itemBytes(int type) {
    return ITEM_HEADER_BYTES + VALUE_BYTES[type];
  }

  /**
   * Whether the bytes are a message of this version whose items end where it ends, and whose known
   * items have the right size.
   */
  public static boolean isValid(ByteBuf buf, int index, int length) {
    int end = index + length;
    if (length < HEADER_BYTES
        || buf.getUnsignedByte(index) != MAGIC
        || buf.getUnsignedByte(index + 1) != VERSION) {
      return false;
    }
    int item = index + HEADER_BYTES;
    while (end - item >= ITEM_HEADER_BYTES) {
      int type = type(buf, item);
      int bytes = itemBytesAt(buf, item);
      if (bytes > end - item || !isPossibleSize(type, bytes)) {
        return false;
      }
      item += bytes;
    }
    return item == end;
  }

  private static boolean isPossibleSize(int type, int itemBytes) {
    boolean isKnown = type > 0 && type < VALUE_BYTES.length;
    return !isKnown
        || itemBytes == itemBytes(type)
        || (isExtensible(type) && itemBytes > itemBytes(type))
        || (mayHaveEcho(type) && itemBytes >= itemBytes(type) + Echo.BYTES)
        || (hasText(type) && itemBytes > itemBytes(type) && itemBytes <= ReasonItem.maxBytes(type));
  }

  /** Whether the value has payload, or what a later version has added. */
  private static boolean isExtensible(int type) {
    return type == DATAGRAM || type == PARAMETERS || UnreliableLanes.isItem(type);
  }

  private static boolean hasText(int type) {
    return type == REASON || type == REFUSED;
  }

  private static boolean mayHaveEcho(int type) {
    return type == SESSION_QUERY || type == STATELESS_RESET || type == PATH_CHALLENGE;
  }

  /** The size of the item at {@code index}, its header included. */
  public static int itemBytesAt(ByteBuf buf, int index) {
    return ITEM_HEADER_BYTES + buf.getUnsignedShortLE(index + 1);
  }

  /** The index of the first item of a type in the valid message up to {@code end}, or NONE. */
  public static int find(ByteBuf buf, int index, int end, int type) {
    for (int item = index + HEADER_BYTES; item < end; item += itemBytesAt(buf, item)) {
      if (type(buf, item) == type) {
        return item;
      }
    }
    return NONE;
  }

  /**
   * The index of the first item of a type in the message that ends these segments, or NONE. None of
   * this has been validated before.
   */
  public static int findInSegments(ByteBuf segments, int type) {
    int last = findSegment(segments);
    if (last == NONE) {
      return NONE;
    }
    int message = last + Segment.HEADER_BYTES;
    return find(segments, message, message + Segment.length(segments, last), type);
  }

  /** The index of the segment whose message ends these segments, or NONE. */
  static int findSegment(ByteBuf segments) {
    int end = segments.writerIndex();
    int index = segments.readerIndex();
    int last = index;
    while (!Segment.isEnd(segments, index)) {
      int length = Segment.length(segments, index);
      if (length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return NONE;
      }
      last = index;
      index += Segment.HEADER_BYTES + length;
    }
    int message = last + Segment.HEADER_BYTES;
    return index > last
            && Segment.cmd(segments, last) == Segment.WINS
            && isValid(segments, message, index - message)
        ? last
        : NONE;
  }

  /** Whether the sender of items of this type may not know the session. */
  static boolean isOfUnknownSession(int type) {
    return type == STATELESS_RESET || type == RETRY || type == REFUSED || type == ENDED;
  }

  /** Whether the item at {@code index} challenges the path from which a query has come. */
  static boolean isQueryChallenge(ByteBuf buf, int index) {
    return type(buf, index) == PATH_CHALLENGE && Echo.read(buf, index) != null;
  }

  public static int type(ByteBuf buf, int index) {
    return buf.getUnsignedByte(index);
  }

  /** The value of the item at {@code index}, which has 8 bytes. */
  public static long longValue(ByteBuf buf, int index) {
    return buf.getLongLE(index + ITEM_HEADER_BYTES);
  }

  /** The value of the item at {@code index}, which has 4 bytes. */
  static int intValue(ByteBuf buf, int index) {
    return buf.getIntLE(index + ITEM_HEADER_BYTES);
  }

  /** The value of the item at {@code index}, which has a single byte. */
  static int byteValue(ByteBuf buf, int index) {
    return buf.getUnsignedByte(index + ITEM_HEADER_BYTES);
  }

  public static void writeHeader(ByteBuf out) {
    out.writeByte(MAGIC).writeByte(VERSION);
  }

  /** Writes the header of an item; its value follows. */
  public static void writeItemHeader(ByteBuf out, int type) {
    writeItemHeader(out, type, null);
  }

  /** Writes the header of an item; its value follows, and the echo, unless that is null. */
  public static void writeItemHeader(ByteBuf out, int type, Echo echo) {
    out.writeByte(type).writeShortLE(VALUE_BYTES[type] + Echo.bytes(echo));
  }

  /** The una to show in the answer to a SESSION_QUERY. */
  public static int queryUna(ByteBuf buf, int index) {
    return intValue(buf, index + Long.BYTES);
  }

  /** How many lanes the sender of a LANES has. */
  static int maxLanes(ByteBuf buf, int index) {
    return buf.getUnsignedShortLE(index + ITEM_HEADER_BYTES);
  }

  /** The budget of its sender. */
  static int laneBudgetBytes(ByteBuf buf, int index) {
    return buf.getIntLE(index + ITEM_HEADER_BYTES + Short.BYTES);
  }

  /** Writes a SESSION, if there are tokens. */
  static void writeSession(ByteBuf out, long sessionId, ResetTokens tokens) {
    if (tokens != null) {
      writeItemHeader(out, SESSION);
      out.writeLongLE(sessionId).writeBytes(tokens.of(sessionId));
    }
  }

  /** Writes a LANES. */
  static void writeLanes(ByteBuf out, int maxLanes, int budgetBytes) {
    writeItemHeader(out, LANES);
    out.writeShortLE(maxLanes).writeIntLE(budgetBytes);
  }

  /** Writes a DATAGRAM. */
  public static void writeDatagram(ByteBuf out, int sn, OutboundMessage payload) {
    out.writeByte(DATAGRAM).writeShortLE(DATAGRAM_SN_BYTES + payload.bytes()).writeIntLE(sn);
    payload.copy(out);
  }

  /** Writes an item whose value is a number. */
  public static void write(ByteBuf out, int type, long value) {
    writeItemHeader(out, type);
    switch (VALUE_BYTES[type]) {
      case Long.BYTES -> out.writeLongLE(value);
      case Integer.BYTES -> out.writeIntLE((int) value);
      default -> out.writeByte((int) value);
    }
  }

  /**
   * Pseudo-random bytes of a query that the answer to it repeats, so that no answer to another
   * query is taken for it: protocol.md 13.5. They follow the value that an item has without them.
   */
  public record Echo(long first, long second) {

    public static final int BYTES = 2 * Long.BYTES;

    /**
     * Bytes that others cannot guess: the SipHash-2-4 of a number under the tokens of both sides.
     *
     * @param number another one for each echo of a session
     */
    public static Echo of(long token, long peerToken, int number) {
      SipHash hash = new SipHash(token, peerToken);
      return new Echo(hash(hash, 2L * number), hash(hash, 2L * number + 1));
    }

    private static long hash(SipHash hash, long value) {
      return hash.of(ByteBuffer.allocate(Long.BYTES).putLong(0, value));
    }

    /** Reads those of the item at {@code index}, or returns null if it has none. */
    public static Echo read(ByteBuf buf, int index) {
      int at = index + ExtensionMessage.itemBytes(ExtensionMessage.type(buf, index));
      boolean isThere = index + ExtensionMessage.itemBytesAt(buf, index) - at >= BYTES;
      return isThere ? new Echo(buf.getLongLE(at), buf.getLongLE(at + Long.BYTES)) : null;
    }

    /** The size of these bytes, in bytes; 0 for null. */
    public static int bytes(Echo echo) {
      return echo == null ? 0 : BYTES;
    }

    /** Writes them, unless they are null. */
    public static void write(ByteBuf out, Echo echo) {
      if (echo != null) {
        out.writeLongLE(echo.first).writeLongLE(echo.second);
      }
    }
  }

  /** The items REASON and REFUSED, whose value is a code and a text: protocol.md 13.4 and 13.10. */
  public static final class ReasonItem {

    /** The bits that tell the second and further bytes of a character in UTF-8, and their value. */
    private static final int CONTINUATION_MASK = 0xc0;

    private static final int CONTINUATION = 0x80;

    private ReasonItem() {}

    /** The size of an item with the longest text. */
    static int maxBytes(int type) {
      return ExtensionMessage.itemBytes(type) + CloseReason.MAX_TEXT_BYTES;
    }

    /** The bytes of a text, cut between characters if there are more than {@code maxBytes}. */
    public static byte[] text(CloseReason reason, int maxBytes) {
      byte[] text = reason.text().getBytes(StandardCharsets.UTF_8);
      int bytes = Math.min(text.length, maxBytes);
      while (bytes > 0
          && bytes < text.length
          && (text[bytes] & CONTINUATION_MASK) == CONTINUATION) {
        bytes--;
      }
      return Arrays.copyOf(text, bytes);
    }

    /** Writes an item. */
    public static void write(ByteBuf out, int type, int code, byte[] text) {
      out.writeByte(type).writeShortLE(Integer.BYTES + text.length).writeIntLE(code);
      out.writeBytes(text);
    }

    /** Reads the valid item at {@code index}. Bytes that are not UTF-8 become question marks. */
    public static CloseReason read(ByteBuf buf, int index) {
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
}
