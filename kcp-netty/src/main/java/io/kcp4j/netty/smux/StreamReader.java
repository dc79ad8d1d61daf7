package io.kcp4j.netty.smux;

import io.kcp4j.smux.SmuxStream;
import io.netty.buffer.ByteBuf;

/**
 * Reads from a stream into its channel's pipeline, as {@code autoRead} and {@code read()} ask for
 * it. What is read counts as consumed before a handler receives it. Used by the channel's event
 * loop.
 */
final class StreamReader implements Runnable {

  private final SmuxStreamChannel channel;

  private boolean isPending;
  private boolean isScheduled;

  StreamReader(SmuxStreamChannel channel) {
    this.channel = channel;
  }

  /** Requests one read, which is made when there is input. */
  void begin() {
    isPending = true;
    if (!isScheduled && isReadable()) {
      isScheduled = true;
      channel.eventLoop().execute(this);
    }
  }

  /** Cancels the request because {@code autoRead} was switched off. From any thread. */
  void autoReadCleared() {
    if (!channel.isRegistered() || channel.eventLoop().inEventLoop()) {
      isPending = false;
    } else {
      channel.eventLoop().execute(() -> isPending = channel.config().isAutoRead());
    }
  }

  /** Makes a read that was requested when there was input already. */
  @Override
  public void run() {
    isScheduled = false;
    channel.progressed();
  }

  /** Makes the requested read if there is input. */
  void readIfPending() {
    if (isPending && isReadable()) {
      readAvailable();
    }
  }

  private boolean isReadable() {
    return channel.isReading() && channel.stream().readableBytes() > 0;
  }

  private void readAvailable() {
    var handle = channel.unsafe().recvBufAllocHandle();
    handle.reset(channel.config());
    do {
      ByteBuf read = channel.stream().read(handle.guess());
      int bytes = read.readableBytes();
      handle.attemptedBytesRead(bytes);
      handle.lastBytesRead(bytes);
      handle.incMessagesRead(1);
      isPending = false;
      channel.pipeline().fireChannelRead(read);
    } while (isReadable() && handle.continueReading());
    handle.readComplete();
    channel.pipeline().fireChannelReadComplete();
  }

  /** Discards what has been received. The peer may send as much again. */
  void discard() {
    SmuxStream stream = channel.stream();
    for (ByteBuf read; (read = stream.read(Integer.MAX_VALUE)) != null; read.release()) {}
  }
}
