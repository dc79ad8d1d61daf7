package io.kcp4j.smux;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;

/**
 * A stream of a {@link SmuxSession}: bytes in both directions, which end independently. Used by the
 * session's thread.
 */
@Unstable
public final class SmuxStream {

  /** The priority that is served first. */
  public static final int HIGHEST_PRIORITY = 0;

  /** The priority that is served last. */
  public static final int LOWEST_PRIORITY = 7;

  /** The priority of a new stream. */
  public static final int DEFAULT_PRIORITY = 3;

  /** The largest weight. */
  public static final int MAX_WEIGHT = 256;

  /** The weight of a new stream. */
  public static final int DEFAULT_WEIGHT = 16;

  private final int id;

  SmuxStream(int id) {
    this.id = id;
  }

  /** The stream id, unsigned: odd if the client has opened the stream. */
  public int id() {
    return id;
  }

  /** The session. */
  public SmuxSession session() {
    throw new UnsupportedOperationException();
  }

  /** Sets what the stream sends. Call {@link #outputReady()} if it is not empty. */
  public void source(SmuxStreamSource source) {
    throw new UnsupportedOperationException();
  }

  /**
   * Takes the next bytes that have arrived. They count as read, which lets the peer send more.
   *
   * @return 1 to 65535 bytes, which belong to the caller, or null if there are none now
   */
  public ByteBuf read() {
    throw new UnsupportedOperationException();
  }

  /** How many bytes can be read now. */
  public int readableBytes() {
    throw new UnsupportedOperationException();
  }

  /** Whether the peer has ended its direction, and all that it sent has been read. */
  public boolean isInputEnded() {
    throw new UnsupportedOperationException();
  }

  /** The source is no longer empty. */
  public void outputReady() {
    throw new UnsupportedOperationException();
  }

  /**
   * How many bytes flow control would let leave now: the rest of the peer's window and of the
   * session's share of its buffer. {@link Integer#MAX_VALUE} in version 1.
   */
  public int sendableBytes() {
    throw new UnsupportedOperationException();
  }

  /**
   * Ends our direction when the source has been drained: the peer reads to the end. {@link
   * SmuxStreamListener#outputEnded} says when the FIN has left. Nothing may be added to the source
   * afterwards.
   */
  public void shutdownOutput() {
    throw new UnsupportedOperationException();
  }

  /**
   * Closes both directions. What has not been read is released, and the source is not asked any
   * more. The peer is told by FIN. What it still sends is discarded, and in version 2 credited,
   * until its FIN, for {@link SmuxConfig#closeTimeoutMs()} at most. Without effect on a stream that
   * is closed or has failed.
   */
  public void close() {
    throw new UnsupportedOperationException();
  }

  /** Whether the stream was closed or has failed. */
  public boolean isClosed() {
    throw new UnsupportedOperationException();
  }

  /** The priority, default {@value #DEFAULT_PRIORITY}. */
  public int priority() {
    throw new UnsupportedOperationException();
  }

  /**
   * Sets the priority. A stream sends only when no stream with a lower number can.
   *
   * @param priority {@value #HIGHEST_PRIORITY} to {@value #LOWEST_PRIORITY}, as the urgency of RFC
   *     9218
   */
  public void priority(int priority) {
    throw new UnsupportedOperationException();
  }

  /** The weight, default {@value #DEFAULT_WEIGHT}. */
  public int weight() {
    throw new UnsupportedOperationException();
  }

  /**
   * Sets the weight. Streams of the same priority share what can be sent in proportion to their
   * weights.
   *
   * @param weight 1 to {@value #MAX_WEIGHT}
   */
  public void weight(int weight) {
    throw new UnsupportedOperationException();
  }
}
