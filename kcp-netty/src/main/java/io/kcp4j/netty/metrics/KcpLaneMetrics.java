package io.kcp4j.netty.metrics;

import io.kcp4j.lanes.LaneStats;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpLanes;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * Publishes some lanes of a session, each with the tag {@code lane}: the values of {@link
 * LaneStats} as {@code kcp.lane.messages.out}, {@code kcp.lane.messages.in}, {@code
 * kcp.lane.queued}, {@code kcp.lane.outstanding} and {@code kcp.lane.unread}. The meters are
 * removed when the session's channel closes. Totals of all lanes and sessions are among those of
 * {@link KcpMetrics}.
 *
 * <pre>{@code
 * new KcpLaneMetrics(channel, Tags.of("player", name), 0, 1, 2).bindTo(registry);
 * }</pre>
 */
public final class KcpLaneMetrics implements MeterBinder {

  private final KcpChannel channel;
  private final Tags tags;
  private final KcpLanes all;
  private final int[] lanes;

  /**
   * Publishes lanes. To be made on the channel's event loop; may be bound by any thread.
   *
   * @param tags they have to tell this session from others
   * @throws IllegalArgumentException if the channel has no lanes, or the peer takes no such lane
   */
  public KcpLaneMetrics(KcpChannel channel, Iterable<Tag> tags, int... lanes) {
    all = channel.lanes();
    if (all == null) {
      throw new IllegalArgumentException(channel + " (expected: a session with lanes)");
    }
    this.channel = channel;
    this.tags = Tags.of(tags);
    this.lanes = lanes.clone();
    for (int lane : lanes) {
      all.stats(lane); // Refuses lanes that the peer does not take.
    }
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    List<Meter> meters = new ArrayList<>();
    for (int lane : lanes) {
      meters.add(counter(registry, lane, "messages.out", LaneStats::messagesOut));
      meters.add(counter(registry, lane, "messages.in", LaneStats::messagesIn));
      meters.add(gauge(registry, lane, "queued", BaseUnits.BYTES, LaneStats::queuedBytes));
      meters.add(
          gauge(registry, lane, "outstanding", BaseUnits.BYTES, LaneStats::outstandingBytes));
      meters.add(gauge(registry, lane, "unread", BaseUnits.MESSAGES, LaneStats::unreadMessages));
    }
    channel.closeFuture().addListener(closed -> meters.forEach(registry::remove));
  }

  private Meter counter(
      MeterRegistry registry, int lane, String name, ToDoubleFunction<LaneStats> value) {
    return FunctionCounter.builder(
            "kcp.lane." + name, all, of -> value.applyAsDouble(of.stats(lane)))
        .tags(tags)
        .tag("lane", Integer.toString(lane))
        .baseUnit(BaseUnits.MESSAGES)
        .register(registry);
  }

  private Meter gauge(
      MeterRegistry registry,
      int lane,
      String name,
      String unit,
      ToDoubleFunction<LaneStats> value) {
    return Gauge.builder("kcp.lane." + name, all, of -> value.applyAsDouble(of.stats(lane)))
        .tags(tags)
        .tag("lane", Integer.toString(lane))
        .baseUnit(unit)
        .register(registry);
  }
}
