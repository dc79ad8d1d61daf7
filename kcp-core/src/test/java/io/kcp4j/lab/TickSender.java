package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;

/** Sends {@link Traffic} on a session until a given time. */
final class TickSender implements LabUser {

  private final VirtualTime time;
  private final Traffic traffic;
  private final Payload payload;
  private final LabUser replies;
  private final long endUs;
  private final WriteQueue queue;
  private final ByteBuf messages = Unpooled.buffer();
  private final Runnable tick = this::tick;
  private LabSession session;
  private long ticks;

  /**
   * Makes a sender.
   *
   * @param replies receives what the peer sends
   */
  TickSender(VirtualTime time, Traffic traffic, Payload payload, LabUser replies, long endUs) {
    this.time = time;
    this.traffic = traffic;
    this.payload = payload;
    this.replies = replies;
    this.endUs = endUs;
    queue = new WriteQueue(traffic.messageBytes());
  }

  void start(LabSession session) {
    this.session = session;
    time.at(0, tick);
  }

  private void tick() {
    payload.write(messages.clear(), traffic.messages() * traffic.messageBytes());
    queue.write(session, messages);
    session.flush();
    ticks++;
    if (traffic.tickAtUs(ticks) < endUs) {
      time.at(traffic.tickAtUs(ticks), tick);
    }
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    replies.received(session, data);
  }

  @Override
  public void progressed(LabSession session) {
    if (queue.drain(session)) {
      session.flush();
    }
  }

  /** How many messages were to be sent until now. */
  long messages() {
    return ticks * traffic.messages();
  }
}
