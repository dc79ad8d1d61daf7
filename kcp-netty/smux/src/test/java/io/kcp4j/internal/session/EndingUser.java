package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/**
 * The application of one side of a session in {@link EndingTest}, and the pipeline that carries
 * what it writes. What is read is checked: each byte follows from its position.
 */
abstract class EndingUser {

  /** Bytes by their position. */
  private static final ByteBuf CONTENT = content();

  final VirtualHost host;

  /** Whether the application reads nothing. */
  boolean isPaused;

  private int written;
  private int read;

  /** When the application has read something last. */
  private long lastReadAtUs;

  EndingUser(VirtualHost host) {
    this.host = host;
  }

  private static ByteBuf content() {
    byte[] bytes = new byte[1 << 20];
    new SplittableRandom(1).nextBytes(bytes);
    return Unpooled.unreleasableBuffer(Unpooled.wrappedBuffer(bytes));
  }

  static EndingUser of(Carrier carrier, VirtualHost host) {
    return switch (carrier) {
      case STREAM, MESSAGE -> new SegmentUser(host);
      case LANES -> new LanesUser(host);
      case SMUX -> new SmuxUser(host);
    };
  }

  /** The session is one of the client's, which has begun. */
  void open() {}

  /** Writes as many bytes. */
  final void write(int bytes) {
    add(bytes);
    written += bytes;
    send();
    host.flush();
  }

  /** Queues as many bytes. */
  abstract void add(int bytes);

  /** Passes to the session what it has room for. */
  abstract void send();

  /** Whether nothing waits for room in the session. */
  abstract boolean isQueued();

  /** Reads what has arrived, unless the application is paused. */
  abstract void read();

  /** Discards what has arrived. */
  abstract void discard();

  /** Whether the session has nothing left that the pipeline would read. */
  abstract boolean isDrained();

  /** Whether the application has nothing left to read. */
  boolean isRead() {
    return isDrained();
  }

  /** Ends this direction where the carrier has an end of its own; returns whether it has. */
  boolean finish() {
    return false;
  }

  /** Whether that has left. */
  boolean isFinished() {
    return true;
  }

  /** Whether the peer has ended its direction by the carrier, as the application has read. */
  boolean hasReadEnd() {
    return false;
  }

  /** The session ends. */
  void end() {}

  final int written() {
    return written;
  }

  final int bytesRead() {
    return read;
  }

  final long lastReadAtUs() {
    return lastReadAtUs;
  }

  /** The bytes from a position on. */
  static ByteBuf content(int position, int bytes) {
    return CONTENT.slice(position, bytes);
  }

  /** The application has read bytes, which are released, from a position on. */
  final void readAt(int position, ByteBuf bytes) {
    int length = bytes.readableBytes();
    boolean isRight = ByteBufUtil.equals(bytes, content(position, length));
    bytes.release();
    assertTrue(isRight, () -> "other bytes than were written, from " + position + " on");
    read += length;
    lastReadAtUs = host.nowUs;
  }
}
