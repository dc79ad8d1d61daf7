package io.kcp4j.examples;

import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import io.netty.handler.codec.LengthFieldPrepender;
import io.netty.handler.codec.MessageToMessageCodec;
import java.util.List;

/**
 * Carries the messages of all lanes in the one stream of a session without lanes: length 4 | lane 1
 * | payload.
 */
final class OneStreamCodec extends MessageToMessageCodec<ByteBuf, LaneMessage> {

  private static final int MAX_FRAME_BYTES = 1 << 20;

  private OneStreamCodec() {}

  /** The handlers that turn the stream into messages and back. */
  static List<ChannelHandler> handlers() {
    return List.of(
        new LengthFieldBasedFrameDecoder(MAX_FRAME_BYTES, 0, 4, 0, 4),
        new LengthFieldPrepender(4),
        new OneStreamCodec());
  }

  @Override
  protected void encode(ChannelHandlerContext ctx, LaneMessage message, List<Object> out) {
    ByteBuf content = message.content();
    ByteBuf frame = ctx.alloc().buffer(1 + content.readableBytes());
    out.add(frame.writeByte(message.lane()).writeBytes(content));
  }

  @Override
  protected void decode(ChannelHandlerContext ctx, ByteBuf frame, List<Object> out) {
    int lane = frame.readUnsignedByte();
    out.add(new LaneMessage(lane, frame.readRetainedSlice(frame.readableBytes())));
  }
}
