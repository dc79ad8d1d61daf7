package io.kcp4j.session;

import io.kcp4j.crypto.SipHash;
import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;

/**
 * Pseudo-random bytes of a query that the answer to it repeats, so that no answer to another query
 * is taken for it: protocol.md 13.5. They follow the value that an item has without them.
 */
record Echo(long first, long second) {

  static final int BYTES = 2 * Long.BYTES;

  /**
   * Bytes that others cannot guess: the SipHash-2-4 of a number under the tokens of both sides.
   *
   * @param number another one for each echo of a session
   */
  static Echo of(long token, long peerToken, int number) {
    SipHash hash = new SipHash(token, peerToken);
    return new Echo(hash(hash, 2L * number), hash(hash, 2L * number + 1));
  }

  private static long hash(SipHash hash, long value) {
    return hash.of(ByteBuffer.allocate(Long.BYTES).putLong(0, value));
  }

  /** Reads those of the item at {@code index}, or returns null if it has none. */
  static Echo read(ByteBuf buf, int index) {
    int at = index + ExtensionMessage.itemBytes(ExtensionMessage.type(buf, index));
    boolean isThere = index + ExtensionMessage.itemBytesAt(buf, index) - at >= BYTES;
    return isThere ? new Echo(buf.getLongLE(at), buf.getLongLE(at + Long.BYTES)) : null;
  }

  /** The size of these bytes, in bytes; 0 for null. */
  static int bytes(Echo echo) {
    return echo == null ? 0 : BYTES;
  }

  /** Writes them, unless they are null. */
  static void write(ByteBuf out, Echo echo) {
    if (echo != null) {
      out.writeLongLE(echo.first).writeLongLE(echo.second);
    }
  }
}
