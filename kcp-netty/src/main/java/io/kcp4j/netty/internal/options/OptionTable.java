package io.kcp4j.netty.internal.options;

import io.netty.channel.ChannelOption;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * The channel options that a type of configuration has in addition to its superclass's.
 *
 * <p>Some are options of TCP that frameworks set on any channel. They are accepted, so that Netty
 * logs no warning, and {@code getOptions} leaves them out.
 *
 * @param <C> the type of configuration
 */
public final class OptionTable<C> {

  private record Accessor<C, T>(Function<C, T> get, BiConsumer<C, T> set, boolean isListed) {}

  private final Map<ChannelOption<?>, Accessor<C, ?>> accessors = new LinkedHashMap<>();

  public <T> OptionTable<C> add(ChannelOption<T> option, Function<C, T> get, BiConsumer<C, T> set) {
    accessors.put(option, new Accessor<>(get, set, true));
    return this;
  }

  /** Adds an option of TCP. */
  public <T> OptionTable<C> addOfTcp(
      ChannelOption<T> option, Function<C, T> get, BiConsumer<C, T> set) {
    accessors.put(option, new Accessor<>(get, set, false));
    return this;
  }

  /** Adds an option of TCP that reads as what is in force, and that has no effect if it is set. */
  public <T> OptionTable<C> addOfTcp(ChannelOption<T> option, Function<C, T> get) {
    return addOfTcp(option, get, (config, value) -> {});
  }

  public boolean has(ChannelOption<?> option) {
    return accessors.containsKey(option);
  }

  public <T> T get(C config, ChannelOption<T> option) {
    return accessor(option).get.apply(config);
  }

  public <T> void set(C config, ChannelOption<T> option, T value) {
    option.validate(value);
    accessor(option).set.accept(config, value);
  }

  public void putAll(C config, Map<ChannelOption<?>, Object> options) {
    accessors.forEach(
        (option, accessor) -> {
          if (accessor.isListed) {
            options.put(option, accessor.get.apply(config));
          }
        });
  }

  @SuppressWarnings("unchecked") // Each option was added with accessors of its type.
  private <T> Accessor<C, T> accessor(ChannelOption<T> option) {
    return (Accessor<C, T>) accessors.get(option);
  }
}
