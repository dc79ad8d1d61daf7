package io.kcp4j.netty;

import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;

/**
 * The options of a {@link KcpServerChannel}, to be set before it is registered unless noted. It
 * also has {@link KcpChannelOption#KEY_RING}, and the options of its sockets: {@link
 * KcpChannelOption#SOCKET_CONFIG}, {@code SO_RCVBUF} and {@code SO_SNDBUF} (both 4 MiB by default),
 * {@code SO_REUSEADDR}, {@code IP_TOS} and those of the native transports. Values out of range make
 * {@code setOption} throw {@link IllegalArgumentException}.
 */
public final class KcpServerChannelOption {

  /** The largest value of {@link #SOCKETS}. */
  public static final int MAX_SOCKETS = 1024;

  /**
   * The number of sockets that share the server's port by {@code SO_REUSEPORT}: 1, the default, to
   * {@value #MAX_SOCKETS}. Each socket and its children use another event loop of the server's
   * group, the parent group, or of {@link #SOCKET_GROUP}, if that has enough. The system
   * distributes peers by their addresses; Linux does so evenly. The port must be free, unless
   * {@code SO_REUSEPORT} is also set as an option of the server. If the system does not support
   * {@code SO_REUSEPORT}, the bind fails with an {@link UnsupportedOperationException}.
   */
  public static final ChannelOption<Integer> SOCKETS = option("SOCKETS");

  /**
   * The group whose event loops carry the sockets. A child lives on the event loop of its socket:
   * with the child group of the bootstrap here, children live on the child group's event loops, as
   * those of TCP do. Unset by default: then the sockets are on event loops of the server's group,
   * the parent group, and the first of them on the server's own.
   *
   * <p>The first socket is on the event loop that the group's {@code next()} returns, so that
   * several servers spread over the group; further {@link #SOCKETS} are on those that follow it in
   * the order of the group's iterator. Both are asked once, when the server is registered. If the
   * group has no event loop with UDP sockets, registration and so the bind fail. When an event loop
   * of the group ends, so do the sockets and children that it carries, and the server.
   */
  public static final ChannelOption<EventLoopGroup> SOCKET_GROUP = option("SOCKET_GROUP");

  /**
   * The most sessions at a time; more are refused. At least 1; default 100000, or as many as half
   * of the maximum heap has room for if that is less, at 6 KiB for each: 8192 for a heap of 96 MiB.
   * Beside these 6 KiB a session holds memory of {@link #MEMORY_LIMIT}.
   */
  public static final ChannelOption<Integer> MAX_SESSIONS = option("MAX_SESSIONS");

  /**
   * The most sessions at a time, for each of several {@link #SOCKETS}, whose peers have not
   * acknowledged anything: their addresses may be forged. Beyond half of this number, or when 128
   * have begun within a second, clients have to repeat their first datagram to be accepted, which
   * they do after some 200 ms; those that have the extension at once. Beyond this number each new
   * session ends another, with {@link io.kcp4j.EndReason#EVICTED}: the oldest of which nothing has
   * been received since. At least 1; default 4096.
   */
  public static final ChannelOption<Integer> MAX_UNVALIDATED = option("MAX_UNVALIDATED");

  /**
   * Decides which peers may begin a session; default {@link AcceptFilter#ALL}. May be changed at
   * any time, by any thread.
   */
  public static final ChannelOption<AcceptFilter> ACCEPT_FILTER = option("ACCEPT_FILTER");

  /**
   * The most memory that all sessions together may hold, in bytes, on all {@link #SOCKETS}. At
   * least 1; default half of the maximum heap size, which is also half of the limit of direct
   * buffers. A sixteenth is for sessions whose peers have not proven their address. Of the rest,
   * written data may hold at most half, plus one segment or one message of each session; while that
   * half is full, channels are not writable. A session that holds memory for which others wait, and
   * cannot go on itself, ends as {@link io.kcp4j.EndReason#MEMORY_SHORTAGE}.
   *
   * <p>All servers of a process, and all clients of an event loop group, which have such a limit as
   * well, share half of the heap, or what the system property {@code io.kcp4j.processMemoryLimit}
   * says, in bytes. Each is sure of an equal part of it.
   */
  public static final ChannelOption<Long> MEMORY_LIMIT = option("MEMORY_LIMIT");

  /**
   * The secret by which a restarted server proves to clients that have the extension that it does
   * not know their sessions: at least 16 bytes that others cannot guess. By default it follows from
   * the first key, the host's name and the port, if all keys are AEADs and {@code SO_REUSEPORT} is
   * off; it stays the same until the server closes. Otherwise it is random, and only sessions that
   * this server has closed are covered. With a secret that stays the same, clients that send
   * something learn of a restart after a probe timeout and a round trip. To be set before
   * registration.
   */
  public static final ChannelOption<byte[]> RESET_SECRET = option("RESET_SECRET");

  private KcpServerChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpServerChannelOption.class, name);
  }
}
