package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.ChannelOption;

/**
 * The options of a {@link KcpChannel}: set by {@code option} on a client, by {@code childOption} on
 * accepted children. Unless noted, they may be changed at any time, by any thread; values out of
 * range make {@code setOption} throw {@link IllegalArgumentException}. Ranges and defaults not
 * given here are those of {@link KcpConfig}. A client also has the options of its socket: {@link
 * KcpSocketOption}, {@code SO_RCVBUF} and {@code SO_SNDBUF} (both 4 MiB by default), {@code
 * SO_REUSEADDR}, {@code IP_TOS} and those of the native transports.
 */
public final class KcpChannelOption {

  /** All settings of the ARQ at once. Options that are set later override it. */
  public static final ChannelOption<KcpConfig> CONFIG = option("CONFIG");

  /**
   * A preset of kcptun, which options that are set later override. Reads as null if the settings
   * equal no preset.
   */
  public static final ChannelOption<KcpMode> MODE = option("MODE");

  /** Stream, messages or lanes; fixed when the session begins. See {@link KcpConfig#delivery()}. */
  public static final ChannelOption<Delivery> DELIVERY = option("DELIVERY");

  /** In segments; see {@link KcpConfig#sendWindow()}. */
  public static final ChannelOption<Integer> SEND_WINDOW = option("SEND_WINDOW");

  /** In segments; see {@link KcpConfig#receiveWindow()}. */
  public static final ChannelOption<Integer> RECEIVE_WINDOW = option("RECEIVE_WINDOW");

  /** In bytes; see {@link KcpConfig#mtuBytes()}. */
  public static final ChannelOption<Integer> MTU = option("MTU");

  /** See {@link KcpConfig#noDelay()}. */
  public static final ChannelOption<Boolean> NODELAY = option("NODELAY");

  /** In milliseconds; see {@link KcpConfig#intervalMs()}. */
  public static final ChannelOption<Integer> INTERVAL = option("INTERVAL");

  /** See {@link KcpConfig#lossDetection()}; cannot change once the session has begun. */
  public static final ChannelOption<LossDetection> LOSS_DETECTION = option("LOSS_DETECTION");

  /** See {@link KcpConfig#fastRetransmit()}. */
  public static final ChannelOption<Integer> FAST_RETRANSMIT = option("FAST_RETRANSMIT");

  /** See {@link KcpConfig#earlyRetransmit()}. */
  public static final ChannelOption<Boolean> EARLY_RETRANSMIT = option("EARLY_RETRANSMIT");

  /** See {@link KcpConfig#congestionControl()}. */
  public static final ChannelOption<CongestionControl.Factory> CONGESTION_CONTROL =
      option("CONGESTION_CONTROL");

  /** In milliseconds; see {@link KcpConfig#minRtoMs()}. */
  public static final ChannelOption<Integer> MIN_RTO = option("MIN_RTO");

  /** See {@link KcpConfig#writeDelay()}. */
  public static final ChannelOption<Boolean> WRITE_DELAY = option("WRITE_DELAY");

  /** See {@link KcpConfig#ackNoDelay()}. */
  public static final ChannelOption<Boolean> ACK_NO_DELAY = option("ACK_NO_DELAY");

  /** In transmissions; see {@link KcpConfig#deadLink()}. */
  public static final ChannelOption<Integer> DEAD_LINK = option("DEAD_LINK");

  /** In milliseconds; see {@link KcpConfig#userTimeoutMs()}. */
  public static final ChannelOption<Integer> USER_TIMEOUT = option("USER_TIMEOUT");

  /** In milliseconds; see {@link KcpConfig#zeroWindowTimeoutMs()}. */
  public static final ChannelOption<Integer> WRITE_STALL_TIMEOUT = option("WRITE_STALL_TIMEOUT");

  /** In segments; see {@link KcpConfig#sendQueue()}. */
  public static final ChannelOption<Integer> SEND_QUEUE = option("SEND_QUEUE");

  /** See {@link KcpConfig#maxFragments()}. */
  public static final ChannelOption<Integer> MAX_FRAGMENTS = option("MAX_FRAGMENTS");

  /** In bytes per second; see {@link KcpConfig#rateLimit()}. */
  public static final ChannelOption<Integer> RATE_LIMIT = option("RATE_LIMIT");

  /** In datagrams per millisecond; see {@link KcpConfig#maxBurst()}. */
  public static final ChannelOption<Integer> MAX_BURST = option("MAX_BURST");

  /**
   * The conversation id of a client's session. 0, the default, means a random one. To be set before
   * connecting; cannot be set on an accepted child.
   */
  public static final ChannelOption<Integer> CONV = option("CONV");

  /**
   * The time without payload in either direction after which the session ends, in milliseconds, at
   * least 0. Unreliable datagrams are payload. 0, the default, means never.
   */
  public static final ChannelOption<Integer> IDLE_TIMEOUT = option("IDLE_TIMEOUT");

  /**
   * The time without any datagram from the peer after which a keep-alive probe is sent, in
   * milliseconds, at least 0. If {@link #KEEP_ALIVE_PROBES} in a row stay unanswered, the session
   * ends. If more than 30,000 sessions of one socket receive nothing, peers that have answered a
   * probe before may be probed after up to four times this interval. Default 60000; 0 means never.
   */
  public static final ChannelOption<Integer> KEEP_ALIVE_INTERVAL = option("KEEP_ALIVE_INTERVAL");

  /**
   * The time for which the answer to the first keep-alive probe is awaited, in milliseconds, at
   * least 1; to each further probe it is awaited half as long again, though never for longer than
   * {@link #KEEP_ALIVE_INTERVAL}. A peer that answers neither a probe nor data for this time is
   * {@link KcpChannelEvent#UNRESPONSIVE}. Default 1000. Probes have a resolution of a second.
   */
  public static final ChannelOption<Integer> KEEP_ALIVE_PROBE_INTERVAL =
      option("KEEP_ALIVE_PROBE_INTERVAL");

  /**
   * How many keep-alive probes in a row have to stay unanswered for the session to end, at least 1.
   * Default 7: over about half a minute with the default of {@link #KEEP_ALIVE_PROBE_INTERVAL}.
   */
  public static final ChannelOption<Integer> KEEP_ALIVE_PROBES = option("KEEP_ALIVE_PROBES");

  /**
   * What a client does when the system reports that nobody listens at the server's port (ICMP port
   * unreachable), as after a crash of the server's process. Default {@link PortUnreachable#PROBE}.
   * Cannot be set on an accepted child.
   */
  public static final ChannelOption<PortUnreachable> END_ON_PORT_UNREACHABLE =
      option("END_ON_PORT_UNREACHABLE");

  /**
   * How long a peer may be unresponsive while {@code close()} waits until it has acknowledged what
   * was flushed, in milliseconds, at least 0. Default 3000; 0 closes at once. The peer is probed.
   * If it does not answer for this time, or up to a quarter longer, the session ends as {@link
   * io.kcp4j.EndReason#CLOSE_TIMEOUT}, and the future of {@code close()} fails. Meanwhile the
   * channel is open, discards what it receives and fails further writes.
   */
  public static final ChannelOption<Integer> LINGER = option("LINGER");

  /**
   * How long {@code close()} waits at most for a peer that answers, in milliseconds, at least 1.
   * Default 300,000. {@link #WRITE_STALL_TIMEOUT} ends the wait for a peer that reads nothing.
   */
  public static final ChannelOption<Integer> LINGER_MAX = option("LINGER_MAX");

  /**
   * Whether a client's {@code connect} waits until the peer has answered a window probe. A kcp4j
   * server answers any probe while it accepts sessions: not while it is closing, full or not
   * reading. Other KCP peers answer only those of sessions that they have. With false, the default,
   * a client is connected at once, because KCP has no handshake. The limit of the wait is {@code
   * CONNECT_TIMEOUT_MILLIS}.
   */
  public static final ChannelOption<Boolean> CONNECT_PROBE = option("CONNECT_PROBE");

  /**
   * The keys that seal and open a client's packets; default {@link KeyRing#NONE}. For accepted
   * channels, {@link KcpServerChannelOption#KEY_RING} is set on the server. After registration it
   * may be replaced by one that adds as many bytes to a packet. Connecting fails if setting this
   * option failed, or if {@link KcpServerChannelOption#KEY_RING} was set instead.
   */
  public static final ChannelOption<KeyRing> KEY_RING = option("KEY_RING");

  /**
   * The forward error correction of both directions; default {@link FecConfig#NONE}, which sends no
   * parity and decodes any ratio that the peer sends. May be switched on and off. The peer may
   * misinterpret a change from one ratio to another: protocol.md 11.10.
   */
  public static final ChannelOption<FecConfig> FEC = option("FEC");

  /**
   * The most {@link UnreliableDatagram}s that may wait to be read, and the most that may wait to be
   * sent; beyond that the oldest is dropped. At least 0. With 0, the default, none can be sent, and
   * those that arrive are dropped.
   */
  public static final ChannelOption<Integer> UNRELIABLE_QUEUE = option("UNRELIABLE_QUEUE");

  /**
   * The lanes of a session whose {@link #DELIVERY} is {@link Delivery#LANES}: how many, the memory
   * of what is not read, and how this side sends on each. The default is {@link
   * LanesConfig#DEFAULT}. To be set before the session begins. The two sides need not agree: each
   * tells the other its limits.
   */
  public static final ChannelOption<LanesConfig> LANES = option("LANES");

  /**
   * Whether the session uses kcp4j's extension of KCP with a peer that has it: protocol.md 13.
   * Default true. A client offers it, which kcp-go and C KCP skip; set it to false where the peer
   * is an implementation that refuses payload in a WINS segment. To be set before the session
   * begins.
   */
  public static final ChannelOption<Boolean> EXTENSION = option("EXTENSION");

  /**
   * Makes an observer of each session's events, such as {@link io.kcp4j.trace.JfrTracer} or {@link
   * io.kcp4j.trace.QlogTracer}; default {@link KcpTracerFactory#NONE}. Takes effect for sessions
   * that begin later.
   */
  public static final ChannelOption<KcpTracerFactory> TRACER = option("TRACER");

  private KcpChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpChannelOption.class, name);
  }
}
