package io.kcp4j.netty.smux;

import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundBuffer;

/**
 * What a channel has flushed, as the source of its stream's frames. Writes stay in the channel's
 * outbound buffer until a frame takes them. So the channel's water marks count them, and what a
 * frame holds is chosen when the connection can send it.
 *
 * <p>Taking completes no promise, because the session is at work then, and listeners are user code.
 * {@link #complete} does so afterwards. Used by the event loop.
 */
final class StreamWriter implements SmuxStreamSource {

  private final SmuxStreamChannel channel;
  private final FrameBuilder builder = new FrameBuilder();

  /** Bytes at the head of the outbound buffer that frames have taken. */
  private int takenBytes;

  private boolean isCompleting;

  StreamWriter(SmuxStreamChannel channel) {
    this.channel = channel;
  }

  /** Writes have been flushed. */
  void flushed(ChannelOutboundBuffer in) {
    if (takenBytes == 0) {
      removeEmptyWrites(in);
    }
    if (!isEmpty()) {
      channel.stream().outputReady();
    }
  }

  /** Whether frames have taken all that was flushed. */
  @Override
  public boolean isEmpty() {
    return !builder.hasBytes();
  }

  @Override
  public ByteBuf take(int maxBytes) {
    ByteBuf bytes = builder.build(maxBytes);
    takenBytes += bytes.readableBytes();
    channel.events().enqueue();
    return bytes;
  }

  /** Whether anything that was flushed is still in the outbound buffer. */
  boolean isPending() {
    return takenBytes > 0 || !isEmpty();
  }

  /** Removes from the outbound buffer what frames have taken, which completes promises. */
  void complete() {
    ChannelOutboundBuffer in = channel.unsafe().outboundBuffer();
    if (in != null && takenBytes > 0 && !isCompleting) {
      isCompleting = true;
      try {
        removeTaken(in);
        removeEmptyWrites(in);
      } finally {
        isCompleting = false;
      }
    }
  }

  /** Listeners may write, flush or close at each step. */
  private void removeTaken(ChannelOutboundBuffer in) {
    while (takenBytes > 0 && in.current() instanceof ByteBuf write) {
      int length = write.readableBytes();
      if (takenBytes < length) {
        int taken = takenBytes;
        takenBytes = 0;
        write.skipBytes(taken);
        in.progress(taken);
        return;
      }
      in.progress(length);
      if (in.current() == write) {
        takenBytes -= length;
        in.remove();
      }
    }
  }

  /** Fails all writes. Their listeners may close the channel. */
  void fail(Throwable cause) {
    takenBytes = 0;
    ChannelOutboundBuffer in = channel.unsafe().outboundBuffer();
    if (in != null) {
      in.addFlush();
      while (in.remove(cause)) {}
    }
  }

  private static void removeEmptyWrites(ChannelOutboundBuffer in) {
    while (in.current() instanceof ByteBuf write && !write.isReadable()) {
      in.remove();
    }
  }

  /** Collects the bytes of a frame: a slice of a write, or copies of several small writes. */
  private final class FrameBuilder implements ChannelOutboundBuffer.MessageProcessor {

    /** A frame for each small write would cost more than copying them into one. */
    private static final int MAX_COPIED_BYTES = 1024;

    private int skippedBytes;
    private int room;
    private boolean hasBytes;
    private ByteBuf frame;

    boolean hasBytes() {
      run(0);
      return hasBytes;
    }

    ByteBuf build(int maxBytes) {
      try {
        run(maxBytes);
        return frame;
      } catch (RuntimeException | Error e) { // The allocator may have no memory.
        if (frame != null) {
          frame.release();
        }
        throw e;
      } finally {
        frame = null;
      }
    }

    private void run(int maxBytes) {
      skippedBytes = takenBytes;
      room = maxBytes;
      hasBytes = false;
      ChannelOutboundBuffer in = channel.unsafe().outboundBuffer();
      if (in != null) {
        try {
          in.forEachFlushedMessage(this);
        } catch (RuntimeException e) {
          throw e;
        } catch (Exception e) {
          throw new AssertionError(e); // processMessage throws none.
        }
      }
    }

    @Override
    public boolean processMessage(Object msg) {
      ByteBuf write = (ByteBuf) msg;
      int skipped = Math.min(skippedBytes, write.readableBytes());
      skippedBytes -= skipped;
      int length = write.readableBytes() - skipped;
      return length == 0 || add(write, write.readerIndex() + skipped, length);
    }

    /** Returns whether the next write may be added, too. */
    private boolean add(ByteBuf write, int index, int length) {
      hasBytes = true;
      if (room == 0) {
        return false;
      }
      if (frame == null && (length > MAX_COPIED_BYTES || length >= room)) {
        frame = write.retainedSlice(index, Math.min(length, room));
        return false;
      }
      if (length > MAX_COPIED_BYTES || length > room) {
        return false;
      }
      if (frame == null) {
        frame = channel.alloc().buffer(Math.min(room, MAX_COPIED_BYTES));
      }
      frame.writeBytes(write, index, length);
      room -= length;
      return room > 0;
    }
  }
}
