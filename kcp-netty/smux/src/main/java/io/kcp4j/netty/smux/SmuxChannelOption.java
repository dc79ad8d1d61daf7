package io.kcp4j.netty.smux;

import io.netty.channel.ChannelOption;

/**
 * The options of a {@link SmuxStreamChannel} besides Netty's own. They may be changed at any time,
 * by any thread, and decide only about what this side sends.
 */
public final class SmuxChannelOption {

  /**
   * The priority of the stream among those of its connection, from 0, the first, to 7, the last, as
   * the urgency of RFC 9218: a stream sends only when none with a lower number can. Default 3.
   */
  public static final ChannelOption<Integer> PRIORITY = option("PRIORITY");

  /**
   * The weight of the stream, 1 to 256: streams of the same priority share what can be sent in
   * proportion to their weights. Default 16.
   */
  public static final ChannelOption<Integer> WEIGHT = option("WEIGHT");

  private SmuxChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(SmuxChannelOption.class, name);
  }
}
