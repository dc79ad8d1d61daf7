package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.session.Session;
import io.netty.buffer.ByteBuf;

/**
 * Reads from a channel's session into its pipeline, as {@code autoRead} and {@code read()} ask for
 * it. Used by the channel's event loop.
 */
final class ChannelReader implements Runnable {

  private final KcpChannel channel;

  private boolean isPending;
  private boolean isScheduled;

  /** The rest of a buffer that was larger than the limit of one read, or null. */
  private ByteBuf remainder;

  ChannelReader(KcpChannel channel) {
    this.channel = channel;
  }

  /** Asks for one read, which takes place when there is something to read. */
  void begin() {
    isPending = true;
    if (!isScheduled && isReadable()) {
      isScheduled = true;
      channel.eventLoop().execute(this);
    }
  }

  /** Withdraws the request for a read. */
  void cancel() {
    isPending = false;
  }

  /** The same from any thread, because {@code autoRead} has been switched off. */
  void autoReadCleared() {
    if (!channel.isRegistered() || channel.eventLoop().inEventLoop()) {
      isPending = false;
    } else {
      channel.eventLoop().execute(() -> isPending = channel.config().isAutoRead());
    }
  }

  private boolean isReadable() {
    return channel.isActive() && !channel.isLingering() && hasInput();
  }

  private boolean hasInput() {
    Session session = channel.session().get();
    return remainder != null || session.kcp().isReceivable() || session.isUnreliableReceivable();
  }

  /** The read that was asked for when there was something to read already. */
  @Override
  public void run() {
    isScheduled = false;
    if (isPending && isReadable()) {
      readAvailable();
      channel.session().scheduleFlush(); // The peer may wait for the window to open.
    }
  }

  /** Reads if that was asked for and there is something to read. */
  void readIfPending() {
    if (isPending && isReadable()) {
      readAvailable();
    }
  }

  private void readAvailable() {
    var handle = channel.unsafe().recvBufAllocHandle();
    handle.reset(channel.config());
    do {
      ByteBuf unreliable = channel.session().get().receiveUnreliable();
      ByteBuf read = unreliable != null ? unreliable : nextBuffer(handle.guess());
      int bytes = read.readableBytes();
      handle.attemptedBytesRead(bytes);
      handle.lastBytesRead(bytes);
      handle.incMessagesRead(1);
      isPending = false;
      channel.pipeline().fireChannelRead(unreliable != null ? new UnreliableDatagram(read) : read);
    } while (isReadable() && handle.continueReading());
    handle.readComplete();
    channel.pipeline().fireChannelReadComplete();
  }

  private ByteBuf nextBuffer(int maxBytes) {
    ByteBuf next = remainder != null ? remainder : channel.session().kcp().receive();
    if (next.readableBytes() > maxBytes && channel.config().kcp().delivery() == Delivery.STREAM) {
      remainder = next;
      return next.readRetainedSlice(maxBytes);
    }
    remainder = null;
    return next;
  }

  /** Releases what has not been read. */
  void close() {
    if (remainder != null) {
      remainder.release();
      remainder = null;
    }
  }
}
