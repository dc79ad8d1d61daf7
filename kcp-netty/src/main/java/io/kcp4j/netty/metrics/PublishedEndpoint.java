package io.kcp4j.netty.metrics;

import io.kcp4j.KcpCounters;
import io.netty.channel.Channel;
import java.lang.ref.WeakReference;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/** The values of one endpoint for a {@link PublishedSum}, read from a weakly referenced channel. */
interface PublishedEndpoint {

  /** The current counters. */
  KcpCounters counters();

  double sessions();

  double heldBytes();

  /** Whether both read the same channel. */
  boolean isOf(PublishedEndpoint other);

  /**
   * The endpoint of one type of channel.
   *
   * @param <C> the type
   */
  final class Of<C extends Channel> implements PublishedEndpoint {

    private final WeakReference<C> channel;
    private final Function<C, KcpCounters> readCounters;
    private final ToDoubleFunction<C> readSessions;
    private final ToDoubleFunction<C> readHeldBytes;

    /** The last counters read; they do not reference the channel, and outlast it. */
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
