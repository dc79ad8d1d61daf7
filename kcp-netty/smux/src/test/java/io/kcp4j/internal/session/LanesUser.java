package io.kcp4j.internal.session;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.lanes.OutboundMessage;
import io.netty.buffer.ByteBuf;
import java.util.LinkedHashSet;
import java.util.Set;

/** Writes messages on several lanes in turn. */
final class LanesUser extends EndingUser {

  static final int LANES = 4;

  private static final int MESSAGE_BYTES = 1_000;

  private final int[] writtenTo = new int[LANES];
  private final int[] readFrom = new int[LANES];
  private final Set<Lane> readable = new LinkedHashSet<>();
  private int next;

  LanesUser(VirtualHost host) {
    super(host);
  }

  @Override
  void add(int bytes) {
    for (int left = bytes; left > 0; left -= MESSAGE_BYTES) {
      int id = next++ % LANES;
      int length = Math.min(left, MESSAGE_BYTES);
      host.session.lanes().lane(id).send(new Message(content(writtenTo[id], length)));
      writtenTo[id] += length;
    }
  }

  @Override
  void send() {
    host.driver.table.scheduleFlush(host.session);
  }

  @Override
  boolean isQueued() {
    return true; // What waits for credit is in the session.
  }

  @Override
  void read() {
    takeNews();
    if (!isPaused) {
      for (Lane lane : readable) {
        for (ByteBuf message; (message = lane.receive()) != null; ) {
          int position = readFrom[lane.id()];
          readFrom[lane.id()] += message.readableBytes();
          readAt(position, message);
        }
      }
      readable.clear();
    }
  }

  private void takeNews() {
    for (Lane lane; (lane = host.session.lanes().nextNews()) != null; ) {
      if (lane.hasInput()) {
        readable.add(lane);
      }
    }
  }

  @Override
  void discard() {
    takeNews();
    for (Lane lane : readable) {
      for (ByteBuf message; (message = lane.receive()) != null; message.release()) {}
    }
    readable.clear();
  }

  @Override
  boolean isDrained() {
    return readable.isEmpty();
  }

  private static final class Message extends OutboundMessage {

    Message(ByteBuf content) {
      super(content);
    }

    @Override
    protected void sent() {}

    @Override
    protected void dropped(Drop reason) {}
  }
}
