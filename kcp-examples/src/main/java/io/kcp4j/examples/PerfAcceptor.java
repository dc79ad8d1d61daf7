package io.kcp4j.examples;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.examples.PerfProtocol.Hello;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.ByteToMessageDecoder;
import java.util.List;
import java.util.function.BiConsumer;

/** Waits for a client's hello and replaces itself by the sender or receiver that it asks for. */
final class PerfAcceptor extends ByteToMessageDecoder {

  private final int frameBytes;
  private final BiConsumer<Hello, PerfSide> onHello;

  /**
   * Makes an acceptor.
   *
   * @param frameBytes the size of each write
   * @param onHello called before the measurement starts
   */
  PerfAcceptor(int frameBytes, BiConsumer<Hello, PerfSide> onHello) {
    this.frameBytes = frameBytes;
    this.onHello = onHello;
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf in, List<Object> out)
      throws CommandFailure {
    if (in.readableBytes() < PerfProtocol.HELLO_BYTES) {
      return;
    }
    Hello hello = Hello.decode(in);
    if (hello.reverse()) {
      PerfSender sender = new PerfSender(frameBytes, hello.durationMs(), report -> {});
      onHello.accept(hello, sender);
      ctx.pipeline().addLast(sender);
      sender.start(ctx.pipeline().context(sender));
    } else {
      PerfReceiver receiver = new PerfReceiver(report -> {});
      onHello.accept(hello, receiver);
      ctx.pipeline().addLast(receiver);
    }
    ctx.pipeline().remove(this);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    ctx.close();
  }
}
