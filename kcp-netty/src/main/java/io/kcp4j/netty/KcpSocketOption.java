package io.kcp4j.netty;

import io.netty.channel.ChannelOption;

/**
 * The options of the UDP socket beneath a client's {@link KcpChannel} or a {@link KcpServerChannel}
 * that Netty does not know. On event loops other than epoll's they have no effect.
 */
public final class KcpSocketOption {

  /** The largest value of {@link #SEND_SEGMENTS}. */
  public static final int MAX_SEND_SEGMENTS = 64;

  /**
   * How many datagrams of the same size to the same peer are at most handed to the system as one
   * (UDP_SEGMENT), which cuts them apart on the way out. From 1, which means never, to {@value
   * #MAX_SEND_SEGMENTS}, the default. Nothing of it shows on the wire. A socket that cannot do it,
   * because of its device for example, falls back to 1 when that shows. Can be changed at any time.
   */
  public static final ChannelOption<Integer> SEND_SEGMENTS = option("SEND_SEGMENTS");

  /**
   * How datagrams are taken in; default {@link ReceiveMode#AUTO}. To be set before registration.
   */
  public static final ChannelOption<ReceiveMode> RECEIVE = option("RECEIVE");

  private KcpSocketOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpSocketOption.class, name);
  }
}
