package io.kcp4j.lab;

import io.kcp4j.sim.Payload;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;

/**
 * Receives {@link Traffic}, or its echo, checks every byte, and measures how long each message took
 * since its tick.
 */
final class MessageMeter implements LabUser {

  private final VirtualTime time;
  private final Traffic traffic;
  private final Payload payload;
  private final long fromUs;
  private final Latencies latencies = new Latencies();
  private long bytes;
  private long messages;

  /**
   * Makes a meter.
   *
   * @param fromUs messages of earlier ticks are not measured
   */
  MessageMeter(VirtualTime time, Traffic traffic, Payload payload, long fromUs) {
    this.time = time;
    this.traffic = traffic;
    this.payload = payload;
    this.fromUs = fromUs;
  }

  @Override
  public void received(LabSession session, ByteBuf data) {
    if (!payload.matchesNext(data)) {
      throw new AssertionError("altered: message " + messages);
    }
    bytes += data.readableBytes();
    for (; (messages + 1) * traffic.messageBytes() <= bytes; messages++) {
      long tickAtUs = traffic.tickAtUs(messages / traffic.messages());
      if (tickAtUs >= fromUs) {
        latencies.add(time.nowUs() - tickAtUs);
      }
    }
  }

  /** How many messages have arrived. */
  long messages() {
    return messages;
  }

  Latencies latencies() {
    return latencies;
  }
}
