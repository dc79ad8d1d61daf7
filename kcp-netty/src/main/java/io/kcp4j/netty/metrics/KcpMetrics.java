package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.netty.channel.Channel;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Publishes an endpoint, that is a server with all its sessions or one client: a counter {@code
 * kcp.*} for each {@link KcpCounter}, the gauges {@code kcp.sessions} and {@code kcp.memory.used}.
 * Tags tell endpoints apart.
 *
 * <pre>{@code
 * new KcpMetrics(serverChannel, Tags.of("endpoint", "game")).bindTo(registry);
 * }</pre>
 *
 * <p>The registry holds the channel weakly, as Micrometer's own binders do. When the channel closes
 * its meters are removed, so that another with the same tags can take their place.
 */
public final class KcpMetrics implements MeterBinder {

  private static final String PREFIX = "kcp.";

  private final Binding<?> binding;

  /** Publishes a server. */
  public KcpMetrics(KcpServerChannel server, Iterable<Tag> tags) {
    binding =
        new Binding<>(
            server,
            Tags.of(tags),
            KcpServerChannel::counters,
            KcpServerChannel::sessions,
            KcpServerChannel::heldBytes);
  }

  /** Publishes a client. */
  public KcpMetrics(KcpChannel client, Iterable<Tag> tags) {
    if (client.parent() != null) {
      throw new IllegalArgumentException(client + " (expected: a client, or the server itself)");
    }
    binding =
        new Binding<>(
            client,
            Tags.of(tags),
            KcpChannel::endpointCounters,
            channel -> channel.isActive() ? 1 : 0,
            channel -> channel.stats().heldBytes());
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    binding.bindTo(registry);
  }

  private record Binding<C extends Channel>(
      C channel,
      Tags tags,
      Function<C, KcpCounters> counters,
      ToDoubleFunction<C> sessions,
      ToDoubleFunction<C> heldBytes) {

    void bindTo(MeterRegistry registry) {
      Function<C, KcpCounters> read = counters; // The registry must not come to hold this record.
      List<Meter> meters = new ArrayList<>();
      for (KcpCounter counter : KcpCounter.values()) {
        meters.add(
            FunctionCounter.builder(
                    PREFIX + counter.metricName(), channel, c -> read.apply(c).get(counter))
                .tags(tags)
                .baseUnit(counter.unit())
                .register(registry));
      }
      meters.add(
          Gauge.builder(PREFIX + "sessions", channel, sessions)
              .description("The sessions that there are")
              .tags(tags)
              .baseUnit(BaseUnits.SESSIONS)
              .register(registry));
      meters.add(
          Gauge.builder(PREFIX + "memory.used", channel, heldBytes)
              .description("The capacity of all buffers that the sessions hold")
              .tags(tags)
              .baseUnit(BaseUnits.BYTES)
              .register(registry));
      channel.closeFuture().addListener(closed -> meters.forEach(registry::remove));
    }
  }
}
