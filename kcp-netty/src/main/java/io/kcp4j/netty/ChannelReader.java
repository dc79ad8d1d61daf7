package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.internal.session.Session;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufHolder;
import io.netty.channel.RecvByteBufAllocator;

/**
 * Reads from a channel's session into its pipeline, as {@code autoRead} and {@code read()} ask for
 * it. Used by the channel's event loop.
 */
final class ChannelReader implements Runnable {

  private final KcpChannel channel;

  /** Null unless the session has lanes. */
  private KcpLanes lanes;

  private boolean isPending;
  private boolean isScheduled;

  /** The rest of a buffer that was larger than the limit of one read, or null. */
  private ByteBuf remainder;

  ChannelReader(KcpChannel channel) {
    this.channel = channel;
  }

  /** The session has been made, with these lanes or null. */
  void useLanes(KcpLanes lanes) {
    this.lanes = lanes;
  }

  /** Whether a read is requested. */
  boolean isPending() {
    return isPending;
  }

  /** Requests one read, which is made when there is input, or its end. */
  void begin() {
    isPending = true;
    if (!isScheduled && (isReadable() || channel.isInputEndUnreported())) {
      isScheduled = true;
      channel.eventLoop().execute(this);
    }
  }

  /** Cancels the request. */
  void cancel() {
    isPending = false;
  }

  /** Cancels the request because {@code autoRead} was switched off. From any thread. */
  void autoReadCleared() {
    if (!channel.isRegistered() || channel.eventLoop().inEventLoop()) {
      isPending = false;
    } else {
      channel.eventLoop().execute(() -> isPending = channel.config().isAutoRead());
    }
  }

  private boolean isReadable() {
    return !channel.isInputShutdown() && !channel.isLingering() && hasInput();
  }

  private boolean hasInput() {
    if (lanes != null) {
      return lanes.hasInput();
    }
    Session session = channel.session().get();
    return remainder != null || session.kcp().isReceivable() || session.isUnreliableReceivable();
  }

  /** Makes a read that was requested when there was input already. */
  @Override
  public void run() {
    isScheduled = false;
    if (!isPending) {
      return;
    }
    if (isReadable()) {
      readAvailable();
      channel.session().scheduleFlush(); // The peer may wait for the window to open.
    }
    channel.inputRead(true);
  }

  /** Makes the requested read if there is input. */
  void readIfPending() {
    if (isPending && isReadable()) {
      readAvailable();
    }
  }

  private void readAvailable() {
    var handle = channel.unsafe().recvBufAllocHandle();
    handle.reset(channel.config());
    if (lanes != null) {
      readLanes(handle);
    } else {
      readSession(handle);
    }
    handle.readComplete();
    channel.pipeline().fireChannelReadComplete();
  }

  @SuppressWarnings("deprecation") // The interface names the deprecated type.
  private void readSession(RecvByteBufAllocator.Handle handle) {
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
  }

  @SuppressWarnings("deprecation")
  private void readLanes(RecvByteBufAllocator.Handle handle) {
    do {
      Object read = lanes.read();
      if (read == null) {
        return; // There were only ends of lanes.
      }
      int bytes = ((ByteBufHolder) read).content().readableBytes();
      handle.attemptedBytesRead(bytes);
      handle.lastBytesRead(bytes);
      handle.incMessagesRead(1);
      isPending = false;
      channel.pipeline().fireChannelRead(read);
    } while (isReadable() && handle.continueReading());
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

  /** Whether all of the stream or messages that were received has been read. */
  boolean isDrained() {
    return remainder == null
        && (lanes == null ? !channel.session().kcp().isReceivable() : !lanes.hasInput());
  }

  /** Discards what has been received. */
  void discard() {
    close();
    if (lanes != null) {
      lanes.discard();
    }
    Session session = channel.session().get();
    for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {}
    for (ByteBuf datagram; (datagram = session.receiveUnreliable()) != null; datagram.release()) {}
  }

  /** Releases the remainder of the last read. */
  void close() {
    if (remainder != null) {
      remainder.release();
      remainder = null;
    }
  }
}
