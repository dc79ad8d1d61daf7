package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.netty.channel.ChannelOption;

/**
 * The options of a {@link KcpChannel}: a client's by {@code option}, an accepted child's by {@code
 * childOption}. Unless noted, they may be changed at any time; values out of range make {@code
 * setOption} throw {@link IllegalArgumentException}. Ranges and defaults are {@link KcpConfig}'s.
 */
public final class KcpChannelOption {

  /** All settings of the ARQ at once. Those set afterwards override it. */
  public static final ChannelOption<KcpConfig> CONFIG = option("CONFIG");

  /** One of kcptun's presets; what is set afterwards overrides it. Reads as null if none fits. */
  public static final ChannelOption<KcpMode> MODE = option("MODE");

  /** Stream or messages; fixed once the session has begun. See {@link KcpConfig#delivery()}. */
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

  /** In milliseconds; see {@link KcpConfig#progressTimeoutMs()}. */
  public static final ChannelOption<Integer> PROGRESS_TIMEOUT = option("PROGRESS_TIMEOUT");

  /** In milliseconds; see {@link KcpConfig#writeStallTimeoutMs()}. */
  public static final ChannelOption<Integer> WRITE_STALL_TIMEOUT = option("WRITE_STALL_TIMEOUT");

  /** In segments; see {@link KcpConfig#sendQueue()}. */
  public static final ChannelOption<Integer> SEND_QUEUE = option("SEND_QUEUE");

  /** See {@link KcpConfig#maxFragments()}. */
  public static final ChannelOption<Integer> MAX_FRAGMENTS = option("MAX_FRAGMENTS");

  /** In bytes per second; see {@link KcpConfig#rateLimit()}. */
  public static final ChannelOption<Integer> RATE_LIMIT = option("RATE_LIMIT");

  /** In datagrams per millisecond; see {@link KcpConfig#burst()}. */
  public static final ChannelOption<Integer> MAX_BURST = option("MAX_BURST");

  /**
   * The conversation id that a client opens. 0, the default, means a random one. Takes effect if
   * set before connecting; an accepted child's cannot be set.
   */
  public static final ChannelOption<Integer> CONV = option("CONV");

  /**
   * After how long without payload in either direction the session ends, in milliseconds;
   * unreliable datagrams are payload. 0, the default, means never.
   */
  public static final ChannelOption<Integer> IDLE_TIMEOUT = option("IDLE_TIMEOUT");

  /**
   * After how long without any datagram from the peer it is probed, in milliseconds. Seven
   * unanswered probes, over some half a minute, end the session. Where more than 30,000 sessions of
   * one socket are silent, those that have answered a probe may wait up to four times as long for
   * the next one. Default 60000; 0 means never.
   */
  public static final ChannelOption<Integer> KEEP_ALIVE_INTERVAL = option("KEEP_ALIVE_INTERVAL");

  /**
   * How long {@code close()} waits for the peer to acknowledge what was flushed, in milliseconds.
   * Default 3000; 0 closes at once. Until then the channel stays open, reads nothing and fails
   * further writes.
   */
  public static final ChannelOption<Integer> LINGER = option("LINGER");

  /**
   * Whether a client's {@code connect} waits until the peer has answered a window probe, which
   * every KCP peer does that knows the session; a kcp4j server answers for any. Without it, the
   * default, a client is connected at once: KCP has no handshake. The limit is {@code
   * CONNECT_TIMEOUT_MILLIS}.
   */
  public static final ChannelOption<Boolean> CONNECT_PROBE = option("CONNECT_PROBE");

  /**
   * Whether a client shares its UDP socket with other clients of its event loop. Default false.
   * With true, connecting joins an open socket of the event loop that has had no session with the
   * remote address, and otherwise opens one: two sessions with one address always have two sockets,
   * since many KCP servers tell peers apart by the address alone. To share a socket, clients must
   * have this option, equal socket options, the same {@link #KEY_RING} and allocator, and ask for
   * the same local address, or for none. The socket closes with its last client.
   *
   * <p>To be set before registration. {@code connect} gives the local address; {@code bind} fails
   * with an {@link UnsupportedOperationException}. Once connected, {@link #KEY_RING} and socket
   * options cannot be changed: {@code setOption} throws {@link IllegalStateException}. A shared
   * socket is not connected, which has two effects. The system reports no ICMP errors: a connect
   * with {@link #CONNECT_PROBE} to a port at which nobody listens fails after {@code
   * CONNECT_TIMEOUT_MILLIS} with {@link io.netty.channel.ConnectTimeoutException} and not at once
   * with {@link java.net.ConnectException}. And the socket receives what any host sends; datagrams
   * of no session are counted and dropped.
   */
  public static final ChannelOption<Boolean> SHARED_SOCKET = option("SHARED_SOCKET");

  /**
   * The keys with which a client's packets are sealed and opened, for {@link
   * KcpServerChannelOption#KEY_RING} on an accepted channel's server; default {@link KeyRing#NONE}.
   * Once connected, another may be set that adds as many bytes to a packet. Connecting fails if it
   * could not be set, or if {@link KcpServerChannelOption#KEY_RING} was set in its place.
   */
  public static final ChannelOption<KeyRing> KEY_RING = option("KEY_RING");

  /**
   * The forward error correction of what is sent, and how what comes is decoded; default {@link
   * FecConfig#NONE}, which sends no parity and decodes whatever ratio comes. May be switched on and
   * off; a change from one ratio to another can be misunderstood by the peer: protocol.md 11.10.
   */
  public static final ChannelOption<FecConfig> FEC = option("FEC");

  /**
   * How many {@link UnreliableDatagram}s may wait to be read, and as many to be sent; beyond that
   * the oldest are dropped. At least 0; with 0, the default, none can be sent and those that come
   * are dropped.
   */
  public static final ChannelOption<Integer> UNRELIABLE_QUEUE = option("UNRELIABLE_QUEUE");

  private KcpChannelOption() {}

  private static <T> ChannelOption<T> option(String name) {
    return ChannelOption.valueOf(KcpChannelOption.class, name);
  }
}
