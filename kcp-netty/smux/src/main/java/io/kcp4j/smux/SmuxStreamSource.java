package io.kcp4j.smux;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;

/**
 * What a stream has to send. The session pulls it when a frame can leave, so that what a frame
 * holds is chosen as late as possible. All calls come from the session's thread, within {@link
 * SmuxSession#hasFrame}, {@link SmuxSession#nextFrame} or a call of the stream. A source must not
 * call the session or its streams.
 */
@Unstable
public interface SmuxStreamSource {

  /** Whether there is nothing to send. When that changes, call {@link SmuxStream#outputReady()}. */
  boolean isEmpty();

  /**
   * Takes the next bytes. Called only if the source is not empty.
   *
   * @param maxBytes 1 or more
   * @return 1 to {@code maxBytes} bytes, which belong to the caller
   */
  ByteBuf take(int maxBytes);
}
