package io.kcp4j.netty.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.smux.SmuxConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOutboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelId;
import io.netty.channel.embedded.EmbeddedChannel;
import io.netty.util.concurrent.MockTicker;
import io.netty.util.concurrent.Ticker;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A connection whose peer is the test, frame by frame, in time that stands still. This side is the
 * server unless noted. On closing, asserts that all buffers have been released.
 */
final class EmbeddedConnection implements AutoCloseable {

  /** A writability bit by which a test makes the connection unwritable. */
  private static final int WRITABILITY = 1;

  final EmbeddedChannel channel;

  /** The streams that the peer has opened, and that were accepted, in order. */
  final List<SmuxStreamChannel> accepted = new ArrayList<>();

  /** The recorders of {@link #accepted}, in order. */
  final List<StreamRecorder> recorders = new ArrayList<>();

  /** What the pipeline of the connection has fired. */
  final List<Throwable> exceptions = new ArrayList<>();

  int writes;
  int flushes;

  private boolean isClosingOnException;

  private final MockTicker ticker = Ticker.newMockTicker();
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false);
  private final SmuxHandler handler;

  EmbeddedConnection() {
    this(SmuxConfig.DEFAULT);
  }

  EmbeddedConnection(SmuxConfig config) {
    this(config, stream -> {});
  }

  /** A server that sets up the streams of the peer by {@code initializer}. */
  EmbeddedConnection(SmuxConfig config, Consumer<SmuxStreamChannel> initializer) {
    this(config, false, initializer);
  }

  /** A client, whose peer opens no streams. */
  static EmbeddedConnection client(SmuxConfig config) {
    return new EmbeddedConnection(config, true, null);
  }

  private EmbeddedConnection(
      SmuxConfig config, boolean client, Consumer<SmuxStreamChannel> initializer) {
    handler = new SmuxHandler(config, client, initializer == null ? null : recorded(initializer));
    channel =
        EmbeddedChannel.builder()
            .channelId(DefaultChannelId.newInstance())
            .ticker(ticker)
            .register(false)
            .build();
    channel.config().setAllocator(allocator);
    channel.pipeline().addLast(new Counter(), handler, new ExceptionRecorder());
    try {
      channel.register();
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private ChannelHandler recorded(Consumer<SmuxStreamChannel> initializer) {
    return new ChannelInitializer<SmuxStreamChannel>() {
      @Override
      protected void initChannel(SmuxStreamChannel stream) {
        StreamRecorder recorder = new StreamRecorder();
        accepted.add(stream);
        recorders.add(recorder);
        stream.pipeline().addLast(recorder);
        initializer.accept(stream);
      }
    };
  }

  SmuxHandler handler() {
    return handler;
  }

  SmuxStreamChannelBootstrap bootstrap() {
    return new SmuxStreamChannelBootstrap(channel);
  }

  SmuxStreamChannel open(ChannelHandler handler) {
    SmuxStreamChannel stream = bootstrap().handler(handler).open().getNow();
    channel.runPendingTasks();
    return stream;
  }

  /** The stream that the peer opens with this id, which is served by a recorder. */
  SmuxStreamChannel accept(int id) {
    receive(Frame.syn(id));
    return accepted.get(accepted.size() - 1);
  }

  /** Receives frames in one buffer, and the end of a batch. */
  void receive(Frame... frames) {
    channel.writeInbound(bytes(frames));
  }

  ByteBuf bytes(Frame... frames) {
    ByteBuf bytes = allocator.buffer();
    for (Frame frame : frames) {
      frame.writeTo(bytes);
    }
    return bytes;
  }

  /** A buffer of the connection's allocator. */
  ByteBuf buffer(String text) {
    return ByteBufUtil.writeAscii(allocator, text);
  }

  /** The frames that were sent since the last call. */
  List<Frame> sent() {
    channel.runPendingTasks();
    List<Frame> frames = new ArrayList<>();
    for (ByteBuf message; (message = channel.readOutbound()) != null; message.release()) {
      frames.add(Frame.read(message));
      assertFalse(message.isReadable(), "a message is a whole frame");
    }
    return frames;
  }

  /** The payload that a stream has sent since the last call. */
  String sent(SmuxStreamChannel stream) {
    StringBuilder payload = new StringBuilder();
    for (Frame frame : sent()) {
      if (frame.isPush() && frame.id() == stream.streamId()) {
        payload.append(frame.payload());
      }
    }
    return payload.toString();
  }

  void setWritable(boolean writable) {
    channel.unsafe().outboundBuffer().setUserDefinedWritability(WRITABILITY, writable);
    channel.runPendingTasks();
  }

  /** From now on, the last handler of the connection closes it when it receives an exception. */
  void closeOnException() {
    isClosingOnException = true;
  }

  void advanceMs(long ms) {
    ticker.advanceMillis(ms);
    channel.runPendingTasks();
    channel.runPendingTasks(); // What tasks that were due have scheduled.
  }

  /** What handlers of a stream have not taken, and frames that wait, counted by the session. */
  long unreadBytes() {
    return handler.stats().unreadBytes();
  }

  @Override
  public void close() {
    channel.finishAndReleaseAll();
    assertTrue(accepted.stream().noneMatch(Channel::isOpen), "streams are closed");
    assertEquals(0, allocator.metric().usedHeapMemory(), "bytes of heap buffers left");
    assertEquals(0, allocator.metric().usedDirectMemory(), "bytes of direct buffers left");
  }

  private final class Counter extends ChannelOutboundHandlerAdapter {

    @Override
    public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
      writes++;
      ctx.write(msg, promise);
    }

    @Override
    public void flush(ChannelHandlerContext ctx) {
      flushes++;
      ctx.flush();
    }
  }

  private final class ExceptionRecorder extends ChannelInboundHandlerAdapter {

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      exceptions.add(cause);
      if (isClosingOnException) {
        ctx.close();
      }
    }
  }
}
