package io.kcp4j.netty;

import io.netty.channel.ChannelOption;

/**
 * The options of the UDP socket of a client's {@link KcpChannel} or of a {@link KcpServerChannel},
 * in addition to Netty's own. They have an effect on epoll event loops only.
 */
public final class KcpSocketOption {

  /** The largest value of {@link #SEND_SEGMENTS}. */
  public static final int MAX_SEND_SEGMENTS = 64;

  /**
   * The most datagrams of one size to one peer that are sent by one system call as a GSO batch
   * (UDP_SEGMENT), which the system segments: 1, no batches, to {@value #MAX_SEND_SEGMENTS}, the
   * default. The datagrams on the wire are the same. A socket whose device or path refuses batches
   * sends single datagrams. May be changed at any time.
   */
  public static final ChannelOption<Integer> SEND_SEGMENTS = option("SEND_SEGMENTS");

  /**
   * How datagrams are received; default {@link ReceiveMode#AUTO}. To be set before registration.
   */
  public static final ChannelOption<ReceiveMode> RECEIVE = option("RECEIVE");

  private KcpSocketOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpSocketOption.class, name);
  }
}
