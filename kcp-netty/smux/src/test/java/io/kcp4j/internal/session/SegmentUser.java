package io.kcp4j.internal.session;

import io.kcp4j.Delivery;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.Queue;

/** Writes a byte stream, or messages of several fragments. */
final class SegmentUser extends EndingUser {

  private static final int MESSAGE_BYTES = 3_000;

  private final Queue<ByteBuf> waiting = new ArrayDeque<>();

  SegmentUser(VirtualHost host) {
    super(host);
  }

  @Override
  void add(int bytes) {
    boolean isMessages = host.config.delivery() == Delivery.MESSAGE;
    int most = isMessages ? MESSAGE_BYTES : bytes;
    for (int added = 0; added < bytes; added += most) {
      waiting.add(content(written() + added, Math.min(most, bytes - added)));
    }
  }

  @Override
  void send() {
    while (!waiting.isEmpty() && host.session.kcp().send(waiting.peek())) {
      waiting.remove();
    }
    host.driver.table.scheduleFlush(host.session);
  }

  @Override
  boolean isQueued() {
    return waiting.isEmpty();
  }

  @Override
  void read() {
    for (ByteBuf part; !isPaused && (part = host.session.kcp().receive()) != null; ) {
      readAt(bytesRead(), part);
    }
  }

  @Override
  void discard() {
    for (ByteBuf part; (part = host.session.kcp().receive()) != null; part.release()) {}
  }

  @Override
  boolean isDrained() {
    return !host.session.kcp().isReceivable();
  }
}
