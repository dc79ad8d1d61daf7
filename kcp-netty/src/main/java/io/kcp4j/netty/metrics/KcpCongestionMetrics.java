package io.kcp4j.netty.metrics;

import io.kcp4j.BbrState;
import io.kcp4j.KcpStats;
import io.kcp4j.netty.KcpChannel;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * Publishes what the congestion control of some sessions knows and does, as gauges:
 *
 * <ul>
 *   <li>{@code kcp.congestion.pacing.rate} and {@code kcp.congestion.bandwidth}: the sums of all
 *       sessions, in bytes per second
 *   <li>{@code kcp.congestion.queue}: the longest time that datagrams of a session wait in the
 *       queue of their path
 *   <li>{@code kcp.congestion.sessions}: the number of sessions in each {@link BbrState}, the tag
 *       {@code state}
 *   <li>{@code kcp.congestion.application.limited}: the number of sessions with a congestion
 *       control whose application has less to send than the path would take
 * </ul>
 *
 * <p>The sessions are those that have been {@linkplain #add added}, such as all that a server has
 * accepted:
 *
 * <pre>{@code
 * KcpCongestionMetrics metrics = new KcpCongestionMetrics(Tags.of("endpoint", "server"));
 * metrics.bindTo(registry);
 * serverBootstrap.childHandler(new ChannelInitializer<KcpChannel>() {
 *   protected void initChannel(KcpChannel child) {
 *     metrics.add(child);
 *   }
 * });
 * }</pre>
 *
 * <p>Each gauge asks every session. Registries reference these metrics until the meters are
 * removed. Thread-safe.
 */
public final class KcpCongestionMetrics implements MeterBinder {

  private static final String PREFIX = "kcp.congestion.";

  private static final String BYTES_PER_SECOND = "bytes per second";

  private final Tags tags;
  private final Set<KcpChannel> sessions = ConcurrentHashMap.newKeySet();

  /** Makes metrics without sessions. */
  public KcpCongestionMetrics(Iterable<Tag> tags) {
    this.tags = Tags.of(tags);
  }

  /** Adds a session, of a client or of a server, until it is closed. */
  public void add(KcpChannel session) {
    sessions.add(session);
    session.closeFuture().addListener(closed -> sessions.remove(session));
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    gauge("pacing.rate", m -> m.sum(KcpStats.Congestion::pacingBytesPerSecond))
        .description("The rates at which sessions may send")
        .baseUnit(BYTES_PER_SECOND)
        .register(registry);
    gauge("bandwidth", m -> m.sum(KcpStats.Congestion::bandwidthBytesPerSecond))
        .description("The bandwidths of paths, as far as sessions have measured them")
        .baseUnit(BYTES_PER_SECOND)
        .register(registry);
    gauge("application.limited", m -> m.sum(stats -> stats.isApplicationLimited() ? 1 : 0))
        .description("The sessions whose application is the limit")
        .baseUnit(BaseUnits.SESSIONS)
        .register(registry);
    for (BbrState state : BbrState.values()) {
      gauge("sessions", m -> m.sum(stats -> stats.state().equals(state.name()) ? 1 : 0))
          .description("The sessions in a state of their congestion control")
          .tag("state", state.name().toLowerCase(Locale.ROOT))
          .baseUnit(BaseUnits.SESSIONS)
          .register(registry);
    }
    TimeGauge.builder(PREFIX + "queue", this::longestQueueUs, TimeUnit.MICROSECONDS)
        .description("The longest time that datagrams wait in the queue of a path")
        .tags(tags)
        .register(registry);
  }

  private Gauge.Builder<KcpCongestionMetrics> gauge(
      String name, ToDoubleFunction<KcpCongestionMetrics> value) {
    return Gauge.builder(PREFIX + name, this, value).tags(tags).strongReference(true);
  }

  private Stream<KcpStats.Congestion> stats() {
    return sessions.stream().map(session -> session.stats().congestion());
  }

  private double sum(ToDoubleFunction<KcpStats.Congestion> value) {
    return stats().mapToDouble(value).sum();
  }

  private int longestQueueUs() {
    return stats().mapToInt(KcpStats.Congestion::queueUs).max().orElse(0);
  }
}
