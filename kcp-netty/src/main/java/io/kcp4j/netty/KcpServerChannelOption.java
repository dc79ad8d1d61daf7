package io.kcp4j.netty;

import io.kcp4j.crypto.KeyRing;
import io.netty.channel.ChannelOption;

/**
 * The options of a {@link KcpServerChannel}, to be set before it is registered unless noted. The
 * socket's own, such as {@code SO_RCVBUF}, {@code SO_SNDBUF} (4 MiB each unless set), {@code
 * SO_REUSEADDR}, {@code IP_TOS} and those of the native transports, may be given beside them.
 */
public final class KcpServerChannelOption {

  /**
   * Whether a stranger's window probe makes a child channel. By default it is only answered, and a
   * child is made when the first payload arrives.
   */
  public static final ChannelOption<Boolean> ACCEPT_ON_PROBE = option("ACCEPT_ON_PROBE");

  /** The largest value of {@link #SOCKETS}. */
  public static final int MAX_SOCKETS = 1024;

  /**
   * How many sockets share the server's port by {@code SO_REUSEPORT}: 1, the default, to {@value
   * #MAX_SOCKETS}. Each is on an event loop of its own of the server's group, the parent group, as
   * long as there are enough, and its children with it. The system spreads the peers by their
   * addresses; Linux does so evenly. The port must be free, unless {@code SO_REUSEPORT} is an
   * option of the server, too. Where the system has no {@code SO_REUSEPORT} the bind fails with an
   * {@link UnsupportedOperationException}.
   */
  public static final ChannelOption<Integer> SOCKETS = option("SOCKETS");

  /**
   * The most sessions at a time; more are turned away. At least 1; default 100000, which idle take
   * some 300 MB.
   */
  public static final ChannelOption<Integer> MAX_SESSIONS = option("MAX_SESSIONS");

  /**
   * The most memory that all sessions together may hold, in bytes. At least 1; default half of the
   * largest heap, which is also half of what direct buffers may take. Each of several {@link
   * #SOCKETS} has an equal part of it. At most half is held of what has been written, and one
   * segment, or one message, of each session beyond that; a channel that finds that share full is
   * not writable.
   */
  public static final ChannelOption<Long> MEMORY_LIMIT = option("MEMORY_LIMIT");

  /** The largest datagram that is taken, in bytes: 24 to 2047, default 1500. */
  public static final ChannelOption<Integer> MAX_DATAGRAM = option("MAX_DATAGRAM");

  /**
   * The keys with which all sessions' packets are sealed and opened; default {@link KeyRing#NONE}.
   * Once registered, another may be set that adds as many bytes to a packet. Binding fails if it
   * could not be set, or if {@link KcpChannelOption#KEY_RING} was set in its place.
   */
  public static final ChannelOption<KeyRing> KEY_RING = option("KEY_RING");

  private KcpServerChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpServerChannelOption.class, name);
  }
}
