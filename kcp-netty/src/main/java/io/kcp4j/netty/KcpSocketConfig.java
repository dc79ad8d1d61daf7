package io.kcp4j.netty;

import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.netty.internal.udp.UdpTransport;
import java.util.Objects;

/**
 * The settings of a client's UDP socket, or of the sockets of a server: {@link
 * KcpChannelOption#SOCKET_CONFIG}. Immutable.
 */
public final class KcpSocketConfig {

  /** The default configuration. */
  public static final KcpSocketConfig DEFAULT = new Builder().build();

  private final int maxDatagramBytes;
  private final PortUnreachable portUnreachable;
  private final int maxSessionsPerAddress;
  private final int maxDecryptFailures;
  private final boolean acceptOnProbe;
  private final boolean offload;

  /**
   * What a client does when the system reports that nobody listens at the server's port (ICMP port
   * unreachable): see {@link #portUnreachable()}. Anyone who knows the addresses and ports can
   * forge the message. While {@code connect} waits for the server, the end of the session is a
   * {@link java.net.ConnectException}, otherwise a {@link KcpSessionClosedException} with {@link
   * io.kcp4j.EndReason#PORT_UNREACHABLE}.
   */
  public enum PortUnreachable {
    /** Nothing: the session ends, if at all, since the server does not answer. */
    IGNORE,
    /**
     * Probes the server, and ends the session if the server does not answer while messages go on.
     * If the server has never answered, one probe leaves 500 ms after the first message, and the
     * session ends with the next message. Otherwise seven probes leave within 4.5 s, and the
     * session ends a probe timeout later.
     */
    PROBE,
    /** Ends the session at once. */
    END
  }

  private KcpSocketConfig(Builder builder) {
    maxDatagramBytes = builder.maxDatagramBytes;
    portUnreachable = builder.portUnreachable;
    maxSessionsPerAddress = builder.maxSessionsPerAddress;
    maxDecryptFailures = builder.maxDecryptFailures;
    acceptOnProbe = builder.acceptOnProbe;
    offload = builder.offload;
  }

  /** The largest datagram that is received, in bytes: 24 to 2047, default 1500, as in kcp-go. */
  public int maxDatagramBytes() {
    return maxDatagramBytes;
  }

  /**
   * What a client does when the system reports that nobody listens at the server's port, as after a
   * crash of the server's process. Default {@link PortUnreachable#PROBE}. May be changed at any
   * time.
   */
  public PortUnreachable portUnreachable() {
    return portUnreachable;
  }

  /**
   * Of a server: the most sessions of a remote address, address and port, whose peers have
   * acknowledged something. When there is one more, the oldest of them ends with {@link
   * io.kcp4j.EndReason#SUPERSEDED}. With 1, as in kcp-go, a client that begins again from its port
   * replaces its session. Each of several {@link KcpServerChannelOption#SOCKETS} counts its own. At
   * least 0; 0, the default, means any number.
   */
  public int maxSessionsPerAddress() {
    return maxSessionsPerAddress;
  }

  /**
   * Of a server: the most packets in a second, for each of several {@link
   * KcpServerChannelOption#SOCKETS}, that are opened though no key opens them; of each network (24
   * bits of an IPv4 address, 56 of an IPv6 address) a sixteenth. Beyond that, packets are dropped
   * unopened, but for those from the addresses of sessions whose peers have acknowledged something,
   * of which as many again may fail. 1 to 1000000; default 200000.
   */
  public int maxDecryptFailures() {
    return maxDecryptFailures;
  }

  /**
   * Of a server: whether a window probe of an unknown peer makes a child channel. By default the
   * probe is only answered, and a child is made when the first payload arrives.
   */
  public boolean acceptOnProbe() {
    return acceptOnProbe;
  }

  /**
   * Whether an epoll socket sends and receives batches that the system segments, by GSO and GRO, if
   * the system has them. True unless it is set.
   */
  public boolean offload() {
    return offload;
  }

  /** A builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Collects settings. Every setter checks its range and throws {@link IllegalArgumentException}
   * with the value and the limits.
   */
  public static final class Builder {

    private int maxDatagramBytes = 1500;
    private PortUnreachable portUnreachable = PortUnreachable.PROBE;
    private int maxSessionsPerAddress;
    private int maxDecryptFailures = SessionTable.DEFAULT_DECRYPT_FAILURES_PER_SECOND;
    private boolean acceptOnProbe;
    private boolean offload = true;

    private Builder() {}

    /** See {@link KcpSocketConfig#maxDatagramBytes()}. */
    public Builder maxDatagramBytes(int bytes) {
      int max = UdpTransport.SLOT_BYTES - 1;
      maxDatagramBytes = checkRange("maxDatagramBytes", bytes, Segment.HEADER_BYTES, max);
      return this;
    }

    /** See {@link KcpSocketConfig#portUnreachable()}. */
    public Builder portUnreachable(PortUnreachable action) {
      portUnreachable = Objects.requireNonNull(action, "portUnreachable");
      return this;
    }

    /** See {@link KcpSocketConfig#maxSessionsPerAddress()}. */
    public Builder maxSessionsPerAddress(int sessions) {
      maxSessionsPerAddress = checkRange("maxSessionsPerAddress", sessions, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpSocketConfig#maxDecryptFailures()}. */
    public Builder maxDecryptFailures(int perSecond) {
      int max = SessionTable.MAX_DECRYPT_FAILURES_PER_SECOND;
      maxDecryptFailures = checkRange("maxDecryptFailures", perSecond, 1, max);
      return this;
    }

    /** See {@link KcpSocketConfig#acceptOnProbe()}. */
    public Builder acceptOnProbe(boolean acceptOnProbe) {
      this.acceptOnProbe = acceptOnProbe;
      return this;
    }

    /** See {@link KcpSocketConfig#offload()}. */
    public Builder offload(boolean offload) {
      this.offload = offload;
      return this;
    }

    /** Makes the configuration. */
    public KcpSocketConfig build() {
      return new KcpSocketConfig(this);
    }

    private static int checkRange(String name, int value, int min, int max) {
      if (value < min || value > max) {
        throw new IllegalArgumentException(
            name + ": " + value + " (expected: " + min + " to " + max + ")");
      }
      return value;
    }
  }
}
