package io.kcp4j.netty;

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
final class OptionTable<C> {

  private record Accessor<C, T>(Function<C, T> get, BiConsumer<C, T> set, boolean isListed) {}

  private final Map<ChannelOption<?>, Accessor<C, ?>> accessors = new LinkedHashMap<>();

  <T> OptionTable<C> add(ChannelOption<T> option, Function<C, T> get, BiConsumer<C, T> set) {
    accessors.put(option, new Accessor<>(get, set, true));
    return this;
  }

  /** Adds an option of TCP. */
  <T> OptionTable<C> addOfTcp(ChannelOption<T> option, Function<C, T> get, BiConsumer<C, T> set) {
    accessors.put(option, new Accessor<>(get, set, false));
    return this;
  }

  /** Adds an option of TCP that reads as what is in force, and that has no effect if it is set. */
  <T> OptionTable<C> addOfTcp(ChannelOption<T> option, Function<C, T> get) {
    return addOfTcp(option, get, (config, value) -> {});
  }

  boolean has(ChannelOption<?> option) {
    return accessors.containsKey(option);
  }

  <T> T get(C config, ChannelOption<T> option) {
    return accessor(option).get.apply(config);
  }

  <T> void set(C config, ChannelOption<T> option, T value) {
    option.validate(value);
    accessor(option).set.accept(config, value);
  }

  void putAll(C config, Map<ChannelOption<?>, Object> options) {
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
