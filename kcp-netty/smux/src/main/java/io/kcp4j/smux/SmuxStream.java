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

  final StreamInput input;
  final StreamOutput output;

  /** Null until the stream was accepted, which may have to wait; of a refused stream for good. */
  SmuxStreamListener listener;

  /** Of {@link ControlFrames}. */
  int pendingControl;

  /** Of {@link ConsumptionReports}. */
  int unreportedBytes;

  /** Whether the listener will be told of input. */
  boolean isInputPending;

  /** The user has closed the stream, or it has failed. */
  boolean isClosed;

  /** The peer's FIN is no longer waited for. */
  boolean isAbandoned;

  /** The peer has sent beyond the window, and gets no credit for it. */
  boolean isInViolation;

  /** Counts in the memory of the connection. */
  boolean isCharged;

  /** The session does not know the stream any more. */
  boolean isOver;

  private final int id;
  private final SmuxSession session;

  SmuxStream(SmuxSession session, int id) {
    this.session = session;
    this.id = id;
    SmuxConfig config = session.config();
    boolean hasWindow = config.version() == 2;
    input = new StreamInput(hasWindow ? config.maxStreamBuffer() : 0);
    output = new StreamOutput(this, hasWindow);
  }

  /** The stream id, unsigned: odd if the client has opened the stream. */
  public int id() {
    return id;
  }

  /** The session. */
  public SmuxSession session() {
    return session;
  }

  /** Sets what the stream sends. Call {@link #outputReady()} if it is not empty. */
  public void source(SmuxStreamSource source) {
    output.source = source;
  }

  /**
   * Takes the next bytes that have arrived. They count as read, which lets the peer send more.
   *
   * @return 1 to 65535 bytes, which belong to the caller, or null if there are none now
   */
  public ByteBuf read() {
    return session.read(this);
  }

  /** How many bytes can be read now. */
  public int readableBytes() {
    return input.readableBytes();
  }

  /** Whether the peer has ended its direction, and all that it sent has been read. */
  public boolean isInputEnded() {
    return input.isEnded();
  }

  /** The source is no longer empty. */
  public void outputReady() {
    session.outputReady(this);
  }

  /**
   * How many bytes flow control would let leave now: the rest of the peer's window and of the
   * session's share of its buffer. {@link Integer#MAX_VALUE} in version 1.
   */
  public int sendableBytes() {
    return session.sendableBytes(this);
  }

  /**
   * Ends our direction when the source has been drained: the peer reads to the end. {@link
   * SmuxStreamListener#outputEnded} says when the FIN has left. Nothing may be added to the source
   * afterwards.
   */
  public void shutdownOutput() {
    session.shutdownOutput(this);
  }

  /**
   * Closes both directions. What has not been read is released, and the source is not asked any
   * more. The peer is told by FIN. What it still sends is discarded, until its FIN, for {@link
   * SmuxConfig#closeTimeoutMs()} at most. A peer that does not end is asked to stop: protocol.md
   * 14.4.2. Without effect on a stream that is closed or has failed.
   */
  public void close() {
    session.close(this);
  }

  /** Whether the stream was closed or has failed. */
  public boolean isClosed() {
    return isClosed;
  }

  /** The priority, default {@value #DEFAULT_PRIORITY}. */
  public int priority() {
    return output.turn.priority();
  }

  /**
   * Sets the priority. A stream sends only when no stream with a lower number can.
   *
   * @param priority {@value #HIGHEST_PRIORITY} to {@value #LOWEST_PRIORITY}, as the urgency of RFC
   *     9218
   * @throws IllegalArgumentException if it is out of range
   */
  public void priority(int priority) {
    session.classify(this, priority, weight());
  }

  /** The weight, default {@value #DEFAULT_WEIGHT}. */
  public int weight() {
    return output.turn.weight();
  }

  /**
   * Sets the weight. Streams of the same priority share what can be sent in proportion to their
   * weights.
   *
   * @param weight 1 to {@value #MAX_WEIGHT}
   * @throws IllegalArgumentException if it is out of range
   */
  public void weight(int weight) {
    session.classify(this, priority(), weight);
  }

  @Override
  public String toString() {
    return "smux stream " + Integer.toUnsignedString(id);
  }
}
