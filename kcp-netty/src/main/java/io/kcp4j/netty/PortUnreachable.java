package io.kcp4j.netty;

/**
 * What a client does when the system reports that nobody listens at the server's port (ICMP port
 * unreachable): see {@link KcpChannelOption#END_ON_PORT_UNREACHABLE}. Anyone who knows the
 * addresses and ports can forge the message. While {@code connect} waits for the server, the end of
 * the session is a {@link java.net.ConnectException}, otherwise a {@link KcpEndException} with
 * {@link io.kcp4j.EndReason#PORT_UNREACHABLE}.
 */
public enum PortUnreachable {
  /** Nothing: the session ends, if at all, since the server does not answer. */
  IGNORE,
  /**
   * Probes the server, and ends the session if the server does not answer while messages go on. If
   * the server has never answered, one probe leaves 500 ms after the first message, and the session
   * ends with the next message. Otherwise seven probes leave within 4.5 s, and the session ends a
   * probe timeout later.
   */
  PROBE,
  /** Ends the session at once. */
  END
}
