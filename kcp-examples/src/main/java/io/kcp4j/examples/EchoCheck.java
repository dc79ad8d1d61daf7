package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.atomic.AtomicLong;

/** Compares every echoed byte with the byte that was written. */
final class EchoCheck extends SessionHandler {

  /** What was written and not echoed yet, oldest first; slices of the written buffers. */
  private final Deque<ByteBuf> awaited = new ArrayDeque<>();

  private boolean allWritten;
  private final AtomicLong checkedBytes = new AtomicLong();

  /** The number of bytes echoed correctly; for any thread. */
  long checkedBytes() {
    return checkedBytes.get();
  }

  /** Ends the writing: the check succeeds when the last byte is echoed. Event loop only. */
  void allWritten() {
    allWritten = true;
    succeedIfAllIsEchoed();
  }

  @Override
  public void write(ChannelHandlerContext ctx, Object msg, ChannelPromise promise) {
    awaited.add(((ByteBuf) msg).retainedDuplicate());
    ctx.write(msg, promise);
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    ByteBuf echo = (ByteBuf) msg;
    try {
      while (echo.isReadable()) {
        check(echo);
      }
      succeedIfAllIsEchoed();
    } catch (CommandFailure e) {
      fail(ctx, e);
    } finally {
      echo.release();
    }
  }

  /** Compares at most as much as the oldest buffer in {@link #awaited} holds. */
  private void check(ByteBuf echo) throws CommandFailure {
    ByteBuf sent = awaited.peek();
    if (sent == null) {
      throw new CommandFailure("more bytes were echoed than the " + checkedBytes + " bytes sent");
    }
    int length = Math.min(echo.readableBytes(), sent.readableBytes());
    if (!ByteBufUtil.equals(echo, echo.readerIndex(), sent, sent.readerIndex(), length)) {
      throw new CommandFailure(difference(sent, echo));
    }
    echo.skipBytes(length);
    sent.skipBytes(length);
    checkedBytes.addAndGet(length);
    if (!sent.isReadable()) {
      awaited.remove().release();
    }
  }

  private String difference(ByteBuf sent, ByteBuf echo) {
    int i = 0;
    while (sent.getByte(sent.readerIndex() + i) == echo.getByte(echo.readerIndex() + i)) {
      i++;
    }
    return String.format(
        "byte %d was echoed as 0x%02x, but 0x%02x was sent",
        checkedBytes.get() + i,
        echo.getByte(echo.readerIndex() + i),
        sent.getByte(sent.readerIndex() + i));
  }

  private void succeedIfAllIsEchoed() {
    if (allWritten && awaited.isEmpty()) {
      succeed();
    }
  }

  @Override
  public void handlerRemoved(ChannelHandlerContext ctx) {
    awaited.forEach(ByteBuf::release);
    awaited.clear();
  }
}
