package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.socket.ChannelInputShutdownEvent;
import io.netty.channel.socket.DuplexChannel;
import io.netty.channel.socket.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * A TCP connection and the stream that carries it, two channels of one event loop. What one of them
 * reads is written to the other, without copying; while more waits to be written than the {@link
 * ForwardingLimit} allows, the one is not read. The end of a direction ends that direction of the
 * other channel, after everything that was read before. Both channels close when both directions
 * have ended, when one of them closes or fails, or when half of the connection stays without data
 * for too long. What was read from a channel that has closed is still written to the other, as long
 * as its reader takes any of it within that time.
 *
 * <p>A stream that ends without its FIN, because its session has ended, resets the TCP connection:
 * its user must not take what has arrived for everything.
 *
 * <p>Both channels have {@code ALLOW_HALF_CLOSURE}, and {@code AUTO_READ} off until {@link #start}.
 */
final class TunnelConnection {

  private final TunnelContext context;
  private final SocketChannel tcp;
  private final DuplexChannel stream;
  private final Direction toStream;
  private final Direction toTcp;

  private int endedDirections;
  private boolean isStreamEnded;
  private boolean isClosing;

  /** Whether the other side of the TCP connection has ended its output. */
  private boolean isTcpInputEnded;

  private boolean hasEndedTcpFirst;

  /** Whether anything was read since the time of waiting began. */
  private boolean isActive;

  /** Makes a connection of two channels, of which the stream may have closed since. */
  TunnelConnection(TunnelContext context, SocketChannel tcp, DuplexChannel stream) {
    this.context = context;
    this.tcp = tcp;
    this.stream = stream;
    toStream = new Direction(tcp, stream, context.statistics().fromTcp);
    toTcp = new Direction(stream, tcp, context.statistics().toTcp);
  }

  /**
   * Begins to read both channels, of a connection that the statistics count as open. On their event
   * loop.
   */
  void start() {
    context.log().detail("opened: %s, %s", tcp, stream);
    tcp.pipeline().addLast(toStream);
    stream.pipeline().addLast(toTcp);
    tcp.closeFuture().addListener(closed -> tcpClosed());
    stream.closeFuture().addListener(closed -> streamClosed());
    EarlyInput early = tcp.pipeline().get(EarlyInput.class);
    if (early != null) {
      tcp.pipeline().remove(early);
    }
    tcp.config().setAutoRead(true);
    stream.config().setAutoRead(true);
  }

  /**
   * Whether this side has ended the TCP connection, in order, and the other had not: then its port
   * is in TIME_WAIT. On the event loop.
   */
  boolean hasEndedTcpFirst() {
    return hasEndedTcpFirst;
  }

  private void tcpClosed() {
    if (stream.isOpen()) {
      closeRest(stream);
    } else {
      bothClosed();
    }
  }

  private void streamClosed() {
    if (!tcp.isOpen()) {
      bothClosed();
    } else if (isStreamEnded || isClosing) {
      closeRest(tcp);
    } else {
      reset();
    }
  }

  private void bothClosed() {
    context.statistics().connectionClosed();
    context.log().detail("closed: %s, %s", tcp, stream);
  }

  private void closeAfterWrites(DuplexChannel channel) {
    isClosing = true;
    ending(channel);
    channel.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(written -> channel.close());
  }

  private void ending(DuplexChannel channel) {
    hasEndedTcpFirst |= channel == tcp && !isTcpInputEnded;
  }

  /** The other channel has closed: nothing more comes for this one. */
  private void closeRest(DuplexChannel channel) {
    closeAfterWrites(channel);
    if (channel.isOpen() && context.settings().closeWaitS() > 0) {
      closeUnlessRead(channel);
    }
  }

  private void closeUnlessRead(DuplexChannel channel) {
    long pending = pendingBytes(channel);
    channel
        .eventLoop()
        .schedule(
            () -> {
              if (channel.isOpen() && pendingBytes(channel) == pending) {
                channel.close();
              } else if (channel.isOpen()) {
                closeUnlessRead(channel);
              }
            },
            context.settings().closeWaitS(),
            TimeUnit.SECONDS);
  }

  private static long pendingBytes(DuplexChannel channel) {
    ChannelOutboundBuffer pending = channel.unsafe().outboundBuffer();
    return pending == null ? 0 : pending.totalPendingWriteBytes();
  }

  private void reset() {
    isClosing = true;
    if (tcp.isOpen()) {
      tcp.config().setOption(ChannelOption.SO_LINGER, 0);
    }
    tcp.close();
    stream.close();
  }

  private void failed(DuplexChannel channel, Throwable cause) {
    if (!isClosing) {
      context.log().detail("failed: %s: %s", channel, CommandFailure.describe(cause));
    }
    reset();
  }

  /** A direction has ended, and the channel to which it led was told. */
  private void directionEnded() {
    endedDirections++;
    if (endedDirections == 2) {
      closeAfterWrites(tcp);
      closeAfterWrites(stream);
    } else if (context.settings().closeWaitS() > 0) {
      isActive = true;
      closeIfInactive();
    }
  }

  private void closeIfInactive() {
    if (isActive || toTcp.isWaitingForReader() || toStream.isWaitingForReader()) {
      isActive = false;
      tcp.eventLoop()
          .schedule(this::closeIfInactive, context.settings().closeWaitS(), TimeUnit.SECONDS);
    } else if (!isClosing) {
      closeAfterWrites(tcp);
      closeAfterWrites(stream);
    }
  }

  /** Reads one of the channels and writes to the other. */
  private final class Direction extends ChannelInboundHandlerAdapter {

    private final DuplexChannel from;
    private final DuplexChannel to;
    private final LongAdder bytes;

    /** What was read and is not written yet, in bytes of capacity. */
    private int heldBytes;

    private boolean isPaused;

    Direction(DuplexChannel from, DuplexChannel to, LongAdder bytes) {
      this.from = from;
      this.to = to;
      this.bytes = bytes;
    }

    /** Whether the one who is written to has to read first. */
    boolean isWaitingForReader() {
      return isPaused && !to.isOutputShutdown();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ByteBuf data = (ByteBuf) msg;
      if (!to.isActive()) { // Nobody is there to take it.
        data.release();
        return;
      }
      isActive = true;
      bytes.add(data.readableBytes());
      int capacity = data.capacity();
      add(capacity);
      // A void promise would report a failure as an exception.
      ChannelFuture write = to.write(data);
      if (heldBytes > context.forwarding().partBytes()) {
        pause(true);
      }
      write.addListener(written -> written(capacity));
    }

    private void add(int capacity) {
      heldBytes += capacity;
      context.forwarding().add(capacity);
    }

    private void written(int capacity) {
      add(-capacity);
      if (isPaused && heldBytes <= context.forwarding().partBytes() / 2) {
        pause(false);
      }
    }

    private void pause(boolean isPaused) {
      this.isPaused = isPaused;
      from.config().setAutoRead(!isPaused);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
      to.flush();
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
      if (event == ChannelInputShutdownEvent.INSTANCE) {
        isStreamEnded |= ctx.channel() == stream;
        isTcpInputEnded |= ctx.channel() == tcp;
        // shutdownOutput() of TCP would discard what has not been written yet.
        to.writeAndFlush(Unpooled.EMPTY_BUFFER).addListener(written -> endOutput());
      }
    }

    private void endOutput() {
      ending(to);
      to.shutdownOutput().addListener(told -> directionEnded());
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      failed((DuplexChannel) ctx.channel(), cause);
    }
  }
}
