package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.netty.channel.Channel;
import io.netty.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Publishes the metrics of an endpoint, that is a server with all its sessions, or one client: a
 * counter {@code kcp.*} for each {@link KcpCounter}, and the gauges {@code kcp.sessions} and {@code
 * kcp.memory.used}. The meters of endpoints that have equal tags in one registry are added up.
 *
 * <pre>{@code
 * new KcpMetrics(serverChannel, Tags.of("endpoint", "game")).bindTo(registry);
 * }</pre>
 *
 * <p>An endpoint is published until its last socket has closed; children keep the sockets of a
 * server open, see {@link KcpServerChannel#terminationFuture}. Its final counts stay in the sum, so
 * that counters never decrease. The meters are removed with the last endpoint of their tags.
 * Registries reference channels weakly, as with Micrometer's own binders. Thread-safe.
 */
public final class KcpMetrics implements MeterBinder {

  private final Binding<?> binding;

  /** Publishes a server. */
  public KcpMetrics(KcpServerChannel server, Iterable<Tag> tags) {
    binding =
        new Binding<>(
            server,
            Tags.of(tags),
            server.terminationFuture(),
            KcpServerChannel::counters,
            KcpServerChannel::sessions,
            KcpServerChannel::usedMemoryBytes);
  }

  /**
   * Publishes a client: the counters of its socket.
   *
   * @throws IllegalArgumentException if a server has accepted the channel
   */
  public KcpMetrics(KcpChannel client, Iterable<Tag> tags) {
    if (client.parent() != null) {
      throw new IllegalArgumentException(client + " (expected: a client, or its server)");
    }
    binding =
        new Binding<>(
            client,
            Tags.of(tags),
            client.closeFuture(),
            KcpChannel::endpointCounters,
            channel -> channel.isActive() ? 1 : 0,
            channel -> channel.stats().usedMemoryBytes());
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    binding.bindTo(registry);
  }

  private record Binding<C extends Channel>(
      C channel,
      Tags tags,
      Future<?> end,
      Function<C, KcpCounters> counters,
      ToDoubleFunction<C> sessions,
      ToDoubleFunction<C> usedMemoryBytes) {

    void bindTo(MeterRegistry registry) {
      PublishedSum.Endpoint<C> endpoint =
          new PublishedSum.Endpoint<>(channel, counters, sessions, usedMemoryBytes);
      if (PublishedSum.add(registry, tags, endpoint)) {
        end.addListener(ended -> PublishedSum.retire(registry, tags, endpoint));
      }
    }
  }
}
