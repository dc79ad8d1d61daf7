package io.kcp4j.netty;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.ChannelOption;

/**
 * The options of a {@link KcpChannel}: set by {@code option} on a client, by {@code childOption} on
 * accepted children. Unless noted, they may be changed at any time, by any thread; values out of
 * range make {@code setOption} throw {@link IllegalArgumentException}. Ranges and defaults not
 * given here are those of {@link KcpConfig}, which has further settings: {@link #CONFIG}. A client
 * also has the options of its socket: {@code SO_RCVBUF} and {@code SO_SNDBUF} (both 4 MiB by
 * default), {@code SO_REUSEADDR}, {@code IP_TOS} and those of the native transports.
 */
public final class KcpChannelOption {

  /**
   * All settings of a session at once, those too that have an option of their own and have been set
   * by it before. An option that is set later changes a single one of them.
   */
  public static final ChannelOption<KcpConfig> CONFIG = option("CONFIG");

  /** Stream, messages or lanes; fixed when the session begins. See {@link KcpConfig#delivery()}. */
  public static final ChannelOption<Delivery> DELIVERY = option("DELIVERY");

  /** In segments; see {@link KcpConfig#sendWindow()}. */
  public static final ChannelOption<Integer> SEND_WINDOW = option("SEND_WINDOW");

  /** In segments; see {@link KcpConfig#receiveWindow()}. */
  public static final ChannelOption<Integer> RECEIVE_WINDOW = option("RECEIVE_WINDOW");

  /** In bytes; see {@link KcpConfig#mtuBytes()}. */
  public static final ChannelOption<Integer> MTU = option("MTU");

  /** See {@link KcpConfig#congestionControl()}. */
  public static final ChannelOption<CongestionControl.Factory> CONGESTION_CONTROL =
      option("CONGESTION_CONTROL");

  /** In milliseconds; see {@link KcpConfig#userTimeoutMs()}. */
  public static final ChannelOption<Integer> USER_TIMEOUT = option("USER_TIMEOUT");

  /** In bytes per second; see {@link KcpConfig#rateLimit()}. */
  public static final ChannelOption<Integer> RATE_LIMIT = option("RATE_LIMIT");

  /**
   * The conversation id of a client's session. 0, the default, means a random one. To be set before
   * connecting; cannot be set on an accepted child.
   */
  public static final ChannelOption<Integer> CONV = option("CONV");

  /** In milliseconds; see {@link KcpConfig#idleTimeoutMs()}. */
  public static final ChannelOption<Integer> IDLE_TIMEOUT = option("IDLE_TIMEOUT");

  /** In milliseconds; see {@link KcpConfig#keepAliveIntervalMs()}. */
  public static final ChannelOption<Integer> KEEP_ALIVE_INTERVAL = option("KEEP_ALIVE_INTERVAL");

  /** See {@link KcpConfig#keepAliveProbes()}. */
  public static final ChannelOption<Integer> KEEP_ALIVE_PROBES = option("KEEP_ALIVE_PROBES");

  /**
   * How long a peer may be unresponsive while {@code close()} waits until it has acknowledged what
   * was flushed, in milliseconds; see {@link KcpConfig#lingerMs()}. The peer is probed. If it does
   * not answer for this time, or up to a quarter longer, the session ends as {@link
   * io.kcp4j.EndReason#CLOSE_TIMEOUT}, and the future of {@code close()} fails. Meanwhile the
   * channel is open, discards what it receives and fails further writes.
   */
  public static final ChannelOption<Integer> LINGER = option("LINGER");

  /**
   * Whether a client's {@code connect} waits until the peer has answered a window probe. A kcp4j
   * server answers any probe while it accepts sessions: not while it is closing, full or not
   * reading. Other KCP peers answer only those of sessions that they have. With false, the default,
   * a client is connected at once, because KCP has no handshake. The limit of the wait is {@code
   * CONNECT_TIMEOUT_MILLIS}.
   */
  public static final ChannelOption<Boolean> CONNECT_PROBE = option("CONNECT_PROBE");

  /**
   * The keys that seal and open packets; default {@link KeyRing#NONE}. Set by {@code option} on a
   * client or on a server, for all its sessions. After registration it may be replaced by one that
   * adds as many bytes to a packet. The bind or connect fails if setting this option failed.
   */
  public static final ChannelOption<KeyRing> KEY_RING = option("KEY_RING");

  /**
   * The forward error correction of both directions; default {@link FecConfig#NONE}, which sends no
   * parity and decodes any ratio that the peer sends. May be switched on and off. The peer may
   * misinterpret a change from one ratio to another: protocol.md 11.10.
   */
  public static final ChannelOption<FecConfig> FEC = option("FEC");

  /**
   * The lanes of a session whose {@link #DELIVERY} is {@link Delivery#LANES}: how many, the memory
   * of what is not read, and how this side sends on each. The default is {@link
   * LanesConfig#DEFAULT}. To be set before the session begins. The two sides need not agree: each
   * tells the other its limits.
   */
  public static final ChannelOption<LanesConfig> LANES = option("LANES");

  /**
   * Makes an observer of each session's events, such as {@link io.kcp4j.trace.JfrTracer} or {@link
   * io.kcp4j.trace.QlogTracer}; default {@link KcpTracerFactory#NONE}. Takes effect for sessions
   * that begin later.
   */
  public static final ChannelOption<KcpTracerFactory> TRACER = option("TRACER");

  /**
   * The settings of the UDP socket; default {@link KcpSocketConfig#DEFAULT}. Set by {@code option}
   * on a client or on a server, for all its sockets. To be set before registration, unless noted.
   */
  public static final ChannelOption<KcpSocketConfig> SOCKET_CONFIG = option("SOCKET_CONFIG");

  private KcpChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpChannelOption.class, name);
  }
}
