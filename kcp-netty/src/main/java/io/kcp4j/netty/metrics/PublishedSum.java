package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounter;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
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

  private final List<PublishedEndpoint> endpoints = new ArrayList<>();

  /** The final counts of retired endpoints. */
  private final Map<KcpCounter, Long> retired = new EnumMap<>(KcpCounter.class);

  private PublishedSum() {}

  /**
   * Adds an endpoint.
   *
   * @return false if it was added before
   */
  static boolean add(MeterRegistry registry, Tags tags, PublishedEndpoint endpoint) {
    synchronized (ALL) {
      Map<Tags, PublishedSum> sums = ALL.computeIfAbsent(registry, key -> new HashMap<>());
      PublishedSum sum = sums.computeIfAbsent(tags, key -> new PublishedSum());
      boolean isNew = sum.add(endpoint);
      sum.meters(registry, tags); // Each time: the user may have cleared the registry.
      return isNew;
    }
  }

  /** Removes an endpoint but keeps its counts; removes the meters with the last endpoint. */
  static void retire(MeterRegistry registry, Tags tags, PublishedEndpoint endpoint) {
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

  private synchronized boolean add(PublishedEndpoint endpoint) {
    return endpoints.stream().noneMatch(endpoint::isOf) && endpoints.add(endpoint);
  }

  /** Returns whether it was the last. */
  private synchronized boolean retire(PublishedEndpoint endpoint) {
    endpoints.remove(endpoint);
    for (KcpCounter counter : KcpCounter.values()) {
      retired.merge(counter, endpoint.counters().get(counter), Long::sum);
    }
    return endpoints.isEmpty();
  }

  private synchronized double count(KcpCounter counter) {
    long sum = retired.getOrDefault(counter, 0L);
    for (PublishedEndpoint endpoint : endpoints) {
      sum += endpoint.counters().get(counter);
    }
    return sum;
  }

  private synchronized double sum(ToDoubleFunction<PublishedEndpoint> value) {
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
        Gauge.builder(PREFIX + "sessions", this, sum -> sum.sum(PublishedEndpoint::sessions))
            .description("The number of sessions")
            .tags(tags)
            .baseUnit(BaseUnits.SESSIONS)
            .register(registry));
    meters.add(
        Gauge.builder(PREFIX + "memory.used", this, sum -> sum.sum(PublishedEndpoint::heldBytes))
            .description("The capacity of all buffers that the sessions hold")
            .tags(tags)
            .baseUnit(BaseUnits.BYTES)
            .register(registry));
    return meters;
  }
}
