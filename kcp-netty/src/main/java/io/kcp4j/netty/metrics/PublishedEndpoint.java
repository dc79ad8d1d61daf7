package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounters;
import io.netty.channel.Channel;
import java.lang.ref.WeakReference;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** What a {@link PublishedSum} adds up: reads a channel without keeping it alive. */
interface PublishedEndpoint {

  /** What it has counted up to now. */
  KcpCounters counters();

  double sessions();

  double heldBytes();

  /** Whether it is the same channel's. */
  boolean isOf(PublishedEndpoint other);

  /**
   * Reads one type of channel.
   *
   * @param <C> the type
   */
  final class Of<C extends Channel> implements PublishedEndpoint {

    private final WeakReference<C> channel;
    private final Function<C, KcpCounters> readCounters;
    private final ToDoubleFunction<C> readSessions;
    private final ToDoubleFunction<C> readHeldBytes;

    /** Those that were read last; they do not hold the channel, and outlive it. */
    private KcpCounters counters;

    Of(
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

    @Override
    public KcpCounters counters() {
      C channel = this.channel.get();
      if (channel != null) {
        counters = readCounters.apply(channel);
      }
      return counters;
    }

    @Override
    public double sessions() {
      C channel = this.channel.get();
      return channel == null ? 0 : readSessions.applyAsDouble(channel);
    }

    @Override
    public double heldBytes() {
      C channel = this.channel.get();
      return channel == null ? 0 : readHeldBytes.applyAsDouble(channel);
    }

    @Override
    public boolean isOf(PublishedEndpoint other) {
      C channel = this.channel.get();
      return channel != null && channel.equals(((Of<?>) other).channel.get());
    }
  }
}
