package io.kcp4j.netty.smux;

import io.kcp4j.smux.SmuxStream;
import io.netty.channel.ChannelOption;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.FixedRecvByteBufAllocator;
import java.util.Map;

/**
 * The configuration of a {@link SmuxStreamChannel}: the options of {@link SmuxChannelOption},
 * {@code ALLOW_HALF_CLOSURE} and those of every channel. Thread-safe.
 *
 * <p>{@code RECVBUF_ALLOCATOR} limits the size of the buffers that are read. The default, 64 KiB,
 * is more than the largest frame. {@code ALLOCATOR} is that of the connection by default.
 */
public final class SmuxStreamChannelConfig extends DefaultChannelConfig {

  private static final int READ_BYTES = 64 * 1024;

  private final SmuxStreamChannel streamChannel;

  private volatile int priority = SmuxStream.DEFAULT_PRIORITY;
  private volatile int weight = SmuxStream.DEFAULT_WEIGHT;
  private volatile boolean allowHalfClosure;

  SmuxStreamChannelConfig(SmuxStreamChannel channel) {
    super(channel, new FixedRecvByteBufAllocator(READ_BYTES));
    streamChannel = channel;
    setAllocator(channel.parent().config().getAllocator());
  }

  /** {@link SmuxChannelOption#PRIORITY}. */
  public int priority() {
    return priority;
  }

  /** {@link SmuxChannelOption#WEIGHT}. */
  public int weight() {
    return weight;
  }

  /** {@link ChannelOption#ALLOW_HALF_CLOSURE}. */
  public boolean isAllowHalfClosure() {
    return allowHalfClosure;
  }

  private void setPriority(int priority) {
    this.priority =
        checkRange(
            SmuxChannelOption.PRIORITY,
            priority,
            SmuxStream.HIGHEST_PRIORITY,
            SmuxStream.LOWEST_PRIORITY);
    streamChannel.precedenceChanged();
  }

  private void setWeight(int weight) {
    this.weight = checkRange(SmuxChannelOption.WEIGHT, weight, 1, SmuxStream.MAX_WEIGHT);
    streamChannel.precedenceChanged();
  }

  private static int checkRange(ChannelOption<Integer> option, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return value;
  }

  @Override
  public Map<ChannelOption<?>, Object> getOptions() {
    return getOptions(
        super.getOptions(),
        SmuxChannelOption.PRIORITY,
        SmuxChannelOption.WEIGHT,
        ChannelOption.ALLOW_HALF_CLOSURE);
  }

  @Override
  @SuppressWarnings("unchecked") // The type of each option is that of its value.
  public <T> T getOption(ChannelOption<T> option) {
    if (option.equals(SmuxChannelOption.PRIORITY)) {
      return (T) Integer.valueOf(priority);
    }
    if (option.equals(SmuxChannelOption.WEIGHT)) {
      return (T) Integer.valueOf(weight);
    }
    if (option.equals(ChannelOption.ALLOW_HALF_CLOSURE)) {
      return (T) Boolean.valueOf(allowHalfClosure);
    }
    return super.getOption(option);
  }

  @Override
  public <T> boolean setOption(ChannelOption<T> option, T value) {
    if (option.equals(SmuxChannelOption.PRIORITY)) {
      option.validate(value);
      setPriority((Integer) value);
    } else if (option.equals(SmuxChannelOption.WEIGHT)) {
      option.validate(value);
      setWeight((Integer) value);
    } else if (option.equals(ChannelOption.ALLOW_HALF_CLOSURE)) {
      option.validate(value);
      allowHalfClosure = (Boolean) value;
    } else {
      return super.setOption(option, value);
    }
    return true;
  }

  @Override
  protected void autoReadCleared() {
    streamChannel.reader().autoReadCleared();
  }
}
