package io.kcp4j.smux;

import io.kcp4j.Unstable;

/**
 * What a {@link SmuxSession} reports to its driver. All calls come from the session's thread,
 * within a call of the session or of one of its streams, never within {@link
 * SmuxSession#nextFrame}. Every method may call the session and its streams, but not {@link
 * SmuxSession#receive} and {@link SmuxSession#runTimers}.
 */
@Unstable
public interface SmuxSessionListener {

  /**
   * The peer has opened a stream. To send on it, set {@link SmuxStream#source}.
   *
   * @return the stream's listener, or null to refuse the stream: it is closed
   */
  SmuxStreamListener streamOpened(SmuxStream stream);

  /**
   * {@link SmuxSession#hasFrame()} has become true. Not called again before there was no frame
   * left. A frame may also disappear before it is taken, when its source is drained otherwise or
   * the peer's window shrinks.
   */
  void frameReady();

  /** {@link SmuxSession#isReceiveBlocked()} was true, and no longer is. */
  void receiveReady();
}
