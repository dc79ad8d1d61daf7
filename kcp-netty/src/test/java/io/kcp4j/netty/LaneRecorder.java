package io.kcp4j.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Records the messages and events of lanes: of a session's channel, or of one lane's. */
class LaneRecorder extends ChannelInboundHandlerAdapter {

  /** A lane and a text, or the size of a message of more than 100 bytes. */
  private final List<String> messages = new ArrayList<>();

  final List<Object> events = new CopyOnWriteArrayList<>();
  final List<Throwable> exceptions = new CopyOnWriteArrayList<>();
  private long bytes;

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    if (msg instanceof LaneMessage message) {
      record(message.lane() + ":", message.content());
      message.release();
    } else {
      ByteBuf message = (ByteBuf) msg;
      record("", message);
      message.release();
    }
  }

  private synchronized void record(String lane, ByteBuf content) {
    int size = content.readableBytes();
    bytes += size;
    messages.add(
        lane + (size > 100 ? size + " bytes" : content.toString(StandardCharsets.US_ASCII)));
  }

  synchronized List<String> messages() {
    return List.copyOf(messages);
  }

  /** The messages of a lane. */
  List<String> messages(int lane) {
    return messages().stream().filter(message -> message.startsWith(lane + ":")).toList();
  }

  synchronized int count() {
    return messages.size();
  }

  synchronized long bytes() {
    return bytes;
  }

  boolean hasEvent(int lane, LaneEvent.Type type) {
    return events.contains(new LaneEvent(lane, type));
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
    events.add(event);
    ctx.fireUserEventTriggered(event);
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    exceptions.add(cause);
  }
}
