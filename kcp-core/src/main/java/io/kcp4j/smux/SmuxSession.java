package io.kcp4j.smux;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/**
 * One side of a smux session: many streams over one connection that carries bytes in order. It is a
 * state machine: the driver gives it what arrives and the time, and takes frames from it.
 *
 * <p>What a frame holds is chosen in {@link #nextFrame}. So a driver should take frames only as the
 * connection can send them: what waits in a queue below delays every stream.
 *
 * <p>Used by one thread.
 */
@Unstable
public final class SmuxSession {

  private final SmuxConfig config;

  /**
   * Makes a session. Nothing is sent at the start.
   *
   * @param client whether this side has opened the connection; the peer must be the other
   * @param nowMs the time in milliseconds, from any origin
   */
  public SmuxSession(SmuxConfig config, boolean client, SmuxSessionListener listener, long nowMs) {
    this.config = config;
  }

  /** The settings. */
  public SmuxConfig config() {
    return config;
  }

  /**
   * Takes in what has arrived on the connection: any part of frames, or several. All readable bytes
   * are taken, also while the session {@linkplain #isReceiveBlocked() is blocked}.
   *
   * @param in not released. Its bytes are handed out in slices, so they must not be overwritten
   *     afterwards
   * @param nowMs the time, in milliseconds
   * @throws SmuxException if the peer breaks the protocol so that the following bytes cannot be
   *     understood. The session is unusable, call {@link #fail} with the exception
   */
  public void receive(ByteBuf in, long nowMs) throws SmuxException {
    throw new UnsupportedOperationException();
  }

  /**
   * Whether the driver should stop reading from the connection, because streams have not read
   * {@link SmuxConfig#maxReceiveBuffer()} bytes. {@link SmuxSessionListener#receiveReady()} says
   * when to go on. In version 2, that is {@link SmuxConfig#stalledStreamMs()} later at the latest,
   * unless streams are read all the time.
   */
  public boolean isReceiveBlocked() {
    throw new UnsupportedOperationException();
  }

  /**
   * Opens a stream. The peer learns of it by a frame.
   *
   * @param source what the stream sends, or null to set it later
   * @throws SmuxException if the session has failed, {@link SmuxConfig#maxStreams()} are open, or
   *     all stream ids are used up
   */
  public SmuxStream open(SmuxStreamListener listener, SmuxStreamSource source)
      throws SmuxException {
    throw new UnsupportedOperationException();
  }

  /** Whether {@link #nextFrame} would return a frame. */
  public boolean hasFrame() {
    throw new UnsupportedOperationException();
  }

  /**
   * Takes the next frame, chosen now: control frames first, in their order, then data by priority
   * and weight.
   *
   * @return a whole frame, which belongs to the caller, or null if there is nothing to send
   */
  public ByteBuf nextFrame(ByteBufAllocator allocator) {
    throw new UnsupportedOperationException();
  }

  /**
   * Does what is due: keep-alive, and the timeouts of streams.
   *
   * @param nowMs the time, in milliseconds
   * @return after how many milliseconds to call this again, at least 1 and at most 5000
   * @throws SmuxException if nothing has been received for {@link SmuxConfig#keepAliveTimeoutMs()}.
   *     The session is unusable, call {@link #fail} with the exception
   */
  public long runTimers(long nowMs) throws SmuxException {
    throw new UnsupportedOperationException();
  }

  /**
   * Ends the session: every stream fails with the cause, and all buffers are released. Nothing is
   * sent, since smux has no frame for it. Then there are no frames, and {@link #receive} discards.
   * Without effect on a session that has failed.
   */
  public void fail(Throwable cause) {
    throw new UnsupportedOperationException();
  }

  /** Streams that are open. */
  public int openStreams() {
    throw new UnsupportedOperationException();
  }

  /** The state and the counters at this moment. */
  public SmuxStats stats() {
    throw new UnsupportedOperationException();
  }
}
