package io.kcp4j.smux;

import io.kcp4j.Unstable;

/**
 * What a {@link SmuxStream} reports to its user. All calls come from the session's thread, within a
 * call of the session or of one of its streams. Every method may call the session and its streams,
 * but not {@link SmuxSession#receive}, {@link SmuxSession#nextFrame} and {@link
 * SmuxSession#runTimers}. After {@link SmuxStream#close()} there are no more calls.
 */
@Unstable
public interface SmuxStreamListener {

  /**
   * Something has arrived: bytes to {@link SmuxStream#read()}, or the end of the input. Called at
   * the end of {@link SmuxSession#receive}, once for all that has arrived in it. What is read
   * within this call is not copied.
   */
  void inputReady(SmuxStream stream);

  /**
   * The peer has closed the stream and reads no more of it. The source is not asked any more, and
   * what it still has should be dropped. The FIN follows, as after {@link
   * SmuxStream#shutdownOutput()}. What the peer had sent before can still be read.
   *
   * @param cause says so, for writes that fail
   */
  void outputStopped(SmuxStream stream, SmuxException cause);

  /**
   * The output has ended: after {@link SmuxStream#shutdownOutput()}, all data and the FIN have left
   * as frames; after {@link #outputStopped}, the FIN has. Called within {@link
   * SmuxSession#nextFrame}, which then returns that frame.
   */
  void outputEnded(SmuxStream stream);

  /**
   * The stream has failed: its session has, or the stream was cut, for one of the reasons in
   * protocol.md 14. Its buffers have been released and it is closed; there are no more calls.
   *
   * @param cause a {@link SmuxException}, or what was given to {@link SmuxSession#fail}
   */
  void failed(SmuxStream stream, Throwable cause);
}
