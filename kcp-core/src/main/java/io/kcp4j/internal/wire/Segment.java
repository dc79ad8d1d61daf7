package io.kcp4j.internal.wire;

import io.kcp4j.KcpConfig;
import io.netty.buffer.ByteBuf;

/**
 * The segment header: 24 bytes, little-endian, at a given index of a buffer. It is read and written
 * as three longs where all of it is needed.
 *
 * <pre>
 *   0 conv 4 | cmd 1 | frg 1 | wnd 2
 *   8 ts 4   | sn 4
 *  16 una 4  | len 4
 * </pre>
 */
public final class Segment {

  /** The length of the header, in bytes. */
  public static final int HEADER_BYTES = KcpConfig.HEADER_BYTES;

  /** Carries payload. */
  public static final int PUSH = 81;

  /** Acknowledges one PUSH. */
  public static final int ACK = 82;

  /** Window probe: requests a {@link #WINS}. */
  public static final int WASK = 83;

  /** Window update: advertises the window and carries nothing else. */
  public static final int WINS = 84;

  private static final int LENGTH_OFFSET = 20;

  private Segment() {}

  // The three longs, and their fields.

  /** Bytes 0 to 7: conv, cmd, frg and wnd. */
  public static long first(ByteBuf buf, int index) {
    return buf.getLongLE(index);
  }

  /** Bytes 8 to 15: ts and sn. */
  public static long second(ByteBuf buf, int index) {
    return buf.getLongLE(index + 8);
  }

  /** Bytes 16 to 23: una and len. */
  public static long third(ByteBuf buf, int index) {
    return buf.getLongLE(index + 16);
  }

  public static int conv(long first) {
    return (int) first;
  }

  public static int cmd(long first) {
    return (int) (first >>> 32) & 0xff;
  }

  public static int frg(long first) {
    return (int) (first >>> 40) & 0xff;
  }

  public static int wnd(long first) {
    return (int) (first >>> 48);
  }

  public static int ts(long second) {
    return (int) second;
  }

  public static int sn(long second) {
    return (int) (second >>> 32);
  }

  public static int una(long third) {
    return (int) third;
  }

  public static int length(long third) {
    return (int) (third >>> 32);
  }

  // Single fields.

  /** The conversation id. */
  public static int conv(ByteBuf buf, int index) {
    return buf.getIntLE(index);
  }

  /** The command, not checked. */
  public static int cmd(ByteBuf buf, int index) {
    return buf.getUnsignedByte(index + 4);
  }

  /** How many fragments of the message are still to come. */
  public static int frg(ByteBuf buf, int index) {
    return buf.getUnsignedByte(index + 5);
  }

  /** The free receive window, in segments. */
  public static int wnd(ByteBuf buf, int index) {
    return buf.getUnsignedShortLE(index + 6);
  }

  /** The timestamp, in milliseconds of the sender's clock. */
  public static int ts(ByteBuf buf, int index) {
    return buf.getIntLE(index + 8);
  }

  /** The sequence number. */
  public static int sn(ByteBuf buf, int index) {
    return buf.getIntLE(index + 12);
  }

  /** Every sequence number below it has been received. */
  public static int una(ByteBuf buf, int index) {
    return buf.getIntLE(index + 16);
  }

  /** The payload length as a signed number: negative values mean 2^31 bytes and more. */
  public static int length(ByteBuf buf, int index) {
    return buf.getIntLE(index + LENGTH_OFFSET);
  }

  /**
   * Whether no other segment begins at {@code index}, where one ends: trailing bytes that are fewer
   * than a header are ignored, protocol.md 2.1.
   */
  public static boolean isEnd(ByteBuf datagram, int index) {
    return datagram.writerIndex() - index < HEADER_BYTES;
  }

  /** Whether {@code cmd} is one of the four. */
  public static boolean isCommand(int cmd) {
    return cmd >= PUSH && cmd <= WINS;
  }

  /**
   * Writes a header at the buffer's writer index and moves that. For payload {@code length} bytes
   * follow, which the caller writes.
   */
  public static void write(
      ByteBuf buf, int conv, int cmd, int frg, int wnd, int ts, int sn, int una, int length) {
    buf.writeLongLE(first(conv, cmd, frg, wnd));
    buf.writeLongLE(pair(ts, sn));
    buf.writeLongLE(pair(una, length));
  }

  /** The first eight bytes of a header, as a little-endian number. */
  public static long first(int conv, int cmd, int frg, int wnd) {
    return pair(conv, cmd | (frg << 8) | (wnd << 16));
  }

  /** Two fields of four bytes as a little-endian number. */
  public static long pair(int first, int second) {
    return (first & 0xffffffffL) | ((long) second << 32);
  }
}
