package io.kcp4j.netty.smux;

import io.netty.channel.ChannelOption;

/**
 * The options of a {@link SmuxStreamChannel} besides Netty's own. They may be changed at any time, by
 * any thread, and decide only about what this side sends.
 */
public final class SmuxChannelOption {

  /**
   * The priority of the stream among those of its connection: a stream sends while none with a
   * smaller value can. 0 to 255, default 128.
   */
  public static final ChannelOption<Integer> PRIORITY = option("PRIORITY");

  /**
   * The share of the stream among those of its priority: streams that always have something to send
   * send bytes in proportion to their weights. 1 to 256, default 16.
   */
  public static final ChannelOption<Integer> WEIGHT = option("WEIGHT");

  private SmuxChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(SmuxChannelOption.class, name);
  }
}
