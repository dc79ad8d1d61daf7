package io.kcp4j.netty.smux;

import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;

/**
 * What the session reports of a stream, kept until the connection lets the channel act on it. So no
 * handler runs within a call of the session. Used by the event loop.
 */
final class StreamEvents implements SmuxStreamListener, Runnable {

  private final SmuxConnection connection;

  /** Null while the stream is being opened. */
  private SmuxStreamChannel channel;

  private boolean isQueued;
  private SmuxException outputStop;
  private boolean isOutputEnded;
  private Throwable failure;

  StreamEvents(SmuxConnection connection) {
    this.connection = connection;
  }

  void attach(SmuxStreamChannel channel) {
    this.channel = channel;
  }

  @Override
  public void inputReady(SmuxStream stream) {
    channel.reader().inputArrived();
    enqueue();
  }

  @Override
  public void outputStopped(SmuxStream stream, SmuxException cause) {
    outputStop = cause;
    enqueue();
  }

  @Override
  public void outputEnded(SmuxStream stream) {
    isOutputEnded = true;
    enqueue();
  }

  @Override
  public void failed(SmuxStream stream, Throwable cause) {
    failure = cause;
    enqueue();
  }

  /** The channel has to act. */
  void enqueue() {
    if (!isQueued) {
      isQueued = true;
      connection.enqueue(this);
    }
  }

  @Override
  public void run() {
    isQueued = false;
    channel.progressed();
  }

  /** Why writes fail while the stream goes on: the peer reads no more of it. Or null. */
  SmuxException outputStop() {
    return outputStop;
  }

  /** Whether FIN has left as a frame. */
  boolean isOutputEnded() {
    return isOutputEnded;
  }

  /** Why the stream cannot go on, or null. */
  Throwable failure() {
    return failure;
  }
}
