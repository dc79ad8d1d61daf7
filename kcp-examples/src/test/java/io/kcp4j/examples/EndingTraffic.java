package io.kcp4j.examples;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpSessionClosedException;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.util.concurrent.ScheduledFuture;

/**
 * The application of one session of an {@link EndingPeer}: writes bytes whose values follow from
 * their positions, checks those that it reads, and reports what happens, a line for each event.
 */
final class EndingTraffic extends ChannelInboundHandlerAdapter {

  /** A message, and the size of a client's first write. */
  static final int WRITE_BYTES = 1000;

  private static final int FLOW_PERIOD_MS = 10;

  private final int number;
  private final boolean isFirstToWrite;
  private Channel channel;
  private ScheduledFuture<?> flow;
  private long written;
  private long received;
  private boolean isIntact = true;

  EndingTraffic(int number, boolean isFirstToWrite) {
    this.number = number;
    this.isFirstToWrite = isFirstToWrite;
  }

  @Override
  public void channelActive(ChannelHandlerContext ctx) {
    channel = ctx.channel();
    report("active");
    if (isFirstToWrite) {
      write(WRITE_BYTES);
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf bytes = (ByteBuf) msg;
    while (bytes.isReadable()) {
      isIntact &= bytes.readByte() == at(received++);
    }
    bytes.release();
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    report("read");
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    if (event instanceof ChannelInputShutdownEvent) {
      report("input-shutdown");
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    report(
        cause instanceof KcpSessionClosedException end ? "exception " + end.reason() : "exception");
    ctx.close();
  }

  @Override
  public void channelInactive(ChannelHandlerContext ctx) {
    endFlow();
    report("inactive");
  }

  /** Runs a command of the driver, on the event loop. */
  void run(String command, int argument) {
    switch (command) {
      case "write" -> write(argument);
      case "flow" -> startFlow();
      case "end-flow" -> endFlow();
      case "pause" -> pause(argument);
      case "half-close" -> afterWrites(((DuplexChannel) channel)::shutdownOutput);
      case "close" -> afterWrites(this::close);
      default -> throw new IllegalArgumentException(command);
    }
    report(command);
  }

  private void write(int bytes) {
    for (int left = bytes; left > 0; ) {
      int size = Math.min(left, WRITE_BYTES);
      ByteBuf message = channel.alloc().buffer(size);
      for (int i = 0; i < size; i++) {
        message.writeByte(at(written++));
      }
      channel.write(message);
      left -= size;
    }
    channel.flush();
  }

  private void startFlow() {
    Runnable write =
        () -> {
          if (channel.isWritable()) {
            write(WRITE_BYTES);
          }
        };
    flow = channel.eventLoop().scheduleAtFixedRate(write, 0, FLOW_PERIOD_MS, MILLISECONDS);
  }

  private void endFlow() {
    if (flow != null) {
      flow.cancel(false);
    }
  }

  private void pause(int ms) {
    channel.config().setAutoRead(false);
    channel.eventLoop().schedule(() -> channel.config().setAutoRead(true), ms, MILLISECONDS);
  }

  /** Netty's TCP discards at its end what the kernel has not taken yet, so there an end waits. */
  private void afterWrites(Runnable end) {
    if (channel instanceof SocketChannel) {
      channel.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(future -> end.run());
    } else {
      end.run();
    }
  }

  /** Closes the channel and, if it is a stream, then its session. */
  private void close() {
    ChannelFuture closed = channel.close();
    if (channel instanceof SmuxStreamChannel) {
      closed.addListener(future -> channel.parent().close());
    }
  }

  private static byte at(long position) {
    return (byte) (position ^ position >>> 8 ^ position >>> 16);
  }

  private void report(String event) {
    EndingPeer.report(
        String.join(
            " ",
            event,
            "session=" + number,
            "written=" + written,
            "received=" + received,
            "intact=" + isIntact,
            "timeoutUs=" + probeTimeoutUs()));
  }

  /** The probe timeout of the session, or 0 if it is not one of KCP. */
  private int probeTimeoutUs() {
    Channel session = channel instanceof KcpChannel ? channel : channel.parent();
    return session instanceof KcpChannel kcp ? kcp.stats().rtoUs() : 0;
  }
}
