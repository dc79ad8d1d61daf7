package io.kcp4j.netty;

/**
 * What a {@link KcpChannel} learns of its peer: user events of its pipeline. KCP has no handshake,
 * so a channel is active before the first of them.
 */
public enum KcpChannelEvent {
  /**
   * The peer has shown that it receives what this side sends. Fired once: on a client with the
   * first datagram of the server, on a server with the first acknowledgement of the client.
   */
  ESTABLISHED,

  /**
   * The peer has answered neither keep-alive probes nor data for {@link
   * io.kcp4j.KcpConfig#keepAliveProbeIntervalMs()}. Either {@link #RESPONSIVE} follows, or the end
   * of the session.
   */
  UNRESPONSIVE,

  /** After {@link #UNRESPONSIVE}, something was received from the peer again. */
  RESPONSIVE,

  /**
   * The system has refused to send datagrams of a client, at most once in ten seconds: {@code
   * endpointCounters()} has the errors.
   */
  SEND_REFUSED,

  /**
   * The peer has lanes: with {@link io.kcp4j.Delivery#LANES} only. Messages leave from now on. If
   * the peer has none, the session ends as {@link io.kcp4j.EndReason#LANES_UNSUPPORTED}.
   */
  LANES_OPEN
}
