package io.kcp4j.sim;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/**
 * Endless bytes that writer and reader know without storing them: a random block, repeated. The
 * length of the block is a prime above 2^16, so that no misplaced segment matches.
 */
public final class Payload {

  private static final int PERIOD = 65_537;

  private final ByteBuf block;
  private int written;
  private int read;

  /** Draws the block. */
  public Payload(SplittableRandom random) {
    byte[] bytes = new byte[PERIOD];
    random.nextBytes(bytes);
    block = Unpooled.wrappedBuffer(bytes);
  }

  /** Appends the next bytes to {@code target}. */
  public void write(ByteBuf target, int bytes) {
    for (int left = bytes; left > 0; ) {
      int n = Math.min(left, PERIOD - written);
      target.writeBytes(block, written, n);
      written = (written + n) % PERIOD;
      left -= n;
    }
  }

  /** Withdraws the last bytes, which were not sent. */
  void unwrite(int bytes) {
    written = Math.floorMod(written - bytes, PERIOD);
  }

  /** Whether {@code data} holds the bytes that follow those checked before. */
  public boolean matchesNext(ByteBuf data) {
    for (int at = data.readerIndex(); at < data.writerIndex(); ) {
      int n = Math.min(data.writerIndex() - at, PERIOD - read);
      if (!ByteBufUtil.equals(data, at, block, read, n)) {
        return false;
      }
      read = (read + n) % PERIOD;
      at += n;
    }
    return true;
  }
}
