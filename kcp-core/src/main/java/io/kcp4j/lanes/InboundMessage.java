package io.kcp4j.lanes;

import io.netty.buffer.ByteBuf;
import io.netty.util.Recycler;

/** A message of which at least a part has been received, and which has not been read. */
final class InboundMessage {

  /** Stands for a message of an unordered lane that has been read before others have arrived. */
  static final InboundMessage READ = new InboundMessage(null);

  private static final int MAX_POOLED = 256;

  private static final Recycler<InboundMessage> RECYCLER =
      new Recycler<>(MAX_POOLED, 0, 8) {
        @Override
        protected InboundMessage newObject(Handle<InboundMessage> handle) {
          return new InboundMessage(handle);
        }
      };

  private final Recycler.Handle<InboundMessage> handle;

  /** Null once it has been passed to the reader. */
  ByteBuf content;

  int number;
  int totalBytes;
  int receivedBytes;

  /** The size of the buffer that it is to get. */
  int plannedBytes;

  /** Whether all messages before it have arrived. */
  boolean isPassed;

  /** The next one to be read on its lane. */
  InboundMessage next;

  private InboundMessage(Recycler.Handle<InboundMessage> handle) {
    this.handle = handle;
  }

  /** One of the pool, without content. */
  static InboundMessage take(int number, int totalBytes) {
    InboundMessage message = RECYCLER.get();
    message.number = number;
    message.totalBytes = totalBytes;
    return message;
  }

  boolean isComplete() {
    return receivedBytes == totalBytes;
  }

  /** Returns the message, whose content is no longer its own, to the pool. */
  void giveBack() {
    content = null;
    receivedBytes = 0;
    isPassed = false;
    next = null;
    handle.recycle(this);
  }
}
