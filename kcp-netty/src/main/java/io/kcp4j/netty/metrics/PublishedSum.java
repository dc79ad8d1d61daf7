package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.netty.channel.Channel;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * The endpoints of equal tags in one registry, whose values are published as one set of meters.
 * Meters reference a sum weakly; {@link #ALL} references it as long as it has an endpoint.
 * Thread-safe.
 */
final class PublishedSum {

  private static final String PREFIX = "kcp.";

  /** Its monitor guards all adding and retiring. Sums do not reference their registry. */
  private static final Map<MeterRegistry, Map<Tags, PublishedSum>> ALL = new WeakHashMap<>();

  private final List<Endpoint<?>> endpoints = new ArrayList<>();

  /** The final counts of retired endpoints. */
  private final Map<KcpCounter, Long> retired = new EnumMap<>(KcpCounter.class);

  /**
   * The values of one endpoint, read from its weakly referenced channel.
   *
   * @param <C> the type of channel
   */
  static final class Endpoint<C extends Channel> {

    private final WeakReference<C> channel;
    private final Function<C, KcpCounters> readCounters;
    private final ToDoubleFunction<C> readSessions;
    private final ToDoubleFunction<C> readHeldBytes;

    /** The last counters read; they do not reference the channel, and outlast it. */
    private KcpCounters counters;

    Endpoint(
        C channel,
        Function<C, KcpCounters> readCounters,
        ToDoubleFunction<C> readSessions,
        ToDoubleFunction<C> readHeldBytes) {
      this.channel = new WeakReference<>(channel);
      this.readCounters = readCounters;
      this.readSessions = readSessions;
      this.readHeldBytes = readHeldBytes;
      counters = readCounters.apply(channel);
    }

    private KcpCounters counters() {
      C channel = this.channel.get();
      if (channel != null) {
        counters = readCounters.apply(channel);
      }
      return counters;
    }

    private double sessions() {
      return read(readSessions);
    }

    private double usedMemoryBytes() {
      return read(readHeldBytes);
    }

    private double read(ToDoubleFunction<C> value) {
      C channel = this.channel.get();
      return channel == null ? 0 : value.applyAsDouble(channel);
    }

    /** Whether both read the same channel. */
    private boolean isOf(Endpoint<?> other) {
      C channel = this.channel.get();
      return channel != null && channel.equals(other.channel.get());
    }
  }

  private PublishedSum() {}

  /**
   * Adds an endpoint.
   *
   * @return false if it was added before
   */
  static boolean add(MeterRegistry registry, Tags tags, Endpoint<?> endpoint) {
    synchronized (ALL) {
      Map<Tags, PublishedSum> sums = ALL.computeIfAbsent(registry, key -> new HashMap<>());
      PublishedSum sum = sums.computeIfAbsent(tags, key -> new PublishedSum());
      boolean isNew = sum.add(endpoint);
      sum.meters(registry, tags); // Each time: the user may have cleared the registry.
      return isNew;
    }
  }

  /** Removes an endpoint but keeps its counts; removes the meters with the last endpoint. */
  static void retire(MeterRegistry registry, Tags tags, Endpoint<?> endpoint) {
    synchronized (ALL) {
      Map<Tags, PublishedSum> sums = ALL.get(registry);
      PublishedSum sum = sums.get(tags);
      if (sum.retire(endpoint)) {
        sums.remove(tags);
        if (sums.isEmpty()) {
          ALL.remove(registry);
        }
        sum.meters(registry, tags).forEach(registry::remove);
      }
    }
  }

  private synchronized boolean add(Endpoint<?> endpoint) {
    return endpoints.stream().noneMatch(endpoint::isOf) && endpoints.add(endpoint);
  }

  /** Returns whether it was the last. */
  private synchronized boolean retire(Endpoint<?> endpoint) {
    endpoints.remove(endpoint);
    for (KcpCounter counter : KcpCounter.values()) {
      retired.merge(counter, endpoint.counters().get(counter), Long::sum);
    }
    return endpoints.isEmpty();
  }

  private synchronized double count(KcpCounter counter) {
    long sum = retired.getOrDefault(counter, 0L);
    for (Endpoint<?> endpoint : endpoints) {
      sum += endpoint.counters().get(counter);
    }
    return sum;
  }

  private synchronized double sum(ToDoubleFunction<Endpoint<?>> value) {
    return endpoints.stream().mapToDouble(value).sum();
  }

  /** Registers the meters that are not registered, and returns all. */
  private List<Meter> meters(MeterRegistry registry, Tags tags) {
    List<Meter> meters = new ArrayList<>();
    for (KcpCounter counter : KcpCounter.values()) {
      meters.add(
          FunctionCounter.builder(PREFIX + counter.metricName(), this, sum -> sum.count(counter))
              .tags(tags)
              .baseUnit(counter.unit())
              .register(registry));
    }
    meters.add(
        Gauge.builder(PREFIX + "sessions", this, sum -> sum.sum(Endpoint::sessions))
            .description("The number of sessions")
            .tags(tags)
            .baseUnit(BaseUnits.SESSIONS)
            .register(registry));
    meters.add(
        Gauge.builder(PREFIX + "memory.used", this, sum -> sum.sum(Endpoint::usedMemoryBytes))
            .description("The capacity of all buffers that the sessions hold")
            .tags(tags)
            .baseUnit(BaseUnits.BYTES)
            .register(registry));
    return meters;
  }
}
