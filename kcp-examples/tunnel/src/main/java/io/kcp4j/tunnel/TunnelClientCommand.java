package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import io.netty.channel.EventLoopGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kcp tunnel-client}. */
@Command(
    name = "tunnel-client",
    description =
        "Carry TCP connections to a tunnel-server, through KCP. Compatible with kcptun: "
            + "options, configuration files and protocol.")
public final class TunnelClientCommand extends TunnelCommand {

  private static final TunnelDefaults DEFAULTS = new TunnelDefaults(128, 512, 0);
  private static final int MAX_SESSIONS = 65535;

  @Option(
      names = {"-l", "--localaddr"},
      paramLabel = "HOST:PORT",
      defaultValue = ":12948",
      description = "The address to listen on for TCP (default: ${DEFAULT-VALUE}).")
  private String local;

  @Option(
      names = {"-r", "--remoteaddr"},
      paramLabel = "HOST:PORT",
      defaultValue = "vps:29900",
      description =
          "The tunnel-server. HOST:MIN-MAX: each session chooses a port at random "
              + "(default: ${DEFAULT-VALUE}).")
  private String remote;

  @Option(
      names = "--conn",
      paramLabel = "N",
      defaultValue = "1",
      description = "KCP sessions, which connections use in turn (default: ${DEFAULT-VALUE}).")
  private int sessions;

  @Option(
      names = "--autoexpire",
      paramLabel = "SECONDS",
      defaultValue = "0",
      description =
          "How long new connections use a session; then there is another one. 0: "
              + "without limit (default: ${DEFAULT-VALUE}).")
  private int autoExpireS;

  @Option(
      names = "--scavengettl",
      paramLabel = "SECONDS",
      defaultValue = "600",
      description = "How long an expired session lives at most (default: ${DEFAULT-VALUE}).")
  private int scavengeTtlS;

  @Option(
      names = "--max-connections",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Most TCP connections; 0: as many as the sessions carry, 4096 each "
              + "(default: ${DEFAULT-VALUE}).")
  private int maxConnections;

  @Option(
      names = "--max-connections-per-address",
      paramLabel = "N",
      defaultValue = "0",
      description =
          "Most TCP connections from one address; of IPv6, from 56 bits of it. 0: half of "
              + "--max-connections, from this machine all (default: ${DEFAULT-VALUE}).")
  private int maxConnectionsPerAddress;

  private HostPort localAddress;
  private PortRange remoteAddress;

  @Override
  TunnelDefaults defaults() {
    return DEFAULTS;
  }

  @Override
  void check() {
    localAddress = PortRange.address("--localaddr", local);
    remoteAddress = PortRange.parse("--remoteaddr", remote);
    if (remoteAddress.first().port() == 0) {
      throw new IllegalArgumentException("--remoteaddr: " + remote + " (expected: a port)");
    }
    TunnelOptions.checked("--conn", sessions, 1, MAX_SESSIONS);
    TunnelOptions.checked("--max-connections", maxConnections, 0, Integer.MAX_VALUE);
    TunnelOptions.checked(
        "--max-connections-per-address", maxConnectionsPerAddress, 0, Integer.MAX_VALUE);
    TunnelOptions.checked("--autoexpire", autoExpireS, 0, TunnelOptions.MAX_SECONDS);
    TunnelOptions.checked("--scavengettl", scavengeTtlS, 0, TunnelOptions.MAX_SECONDS);
  }

  @Override
  int maxThreads() {
    return sessions;
  }

  @Override
  Tunnel start(EventLoopGroup group, int threads, TunnelContext context)
      throws CommandFailure, InterruptedException {
    return TunnelClient.start(
        group,
        context,
        localAddress,
        new RemoteHost(remoteAddress),
        limits(),
        sessions,
        new SessionPool.Lifetime(autoExpireS, scavengeTtlS));
  }

  private ConnectionLimits limits() {
    int max = maxConnections == 0 ? sessions * TunnelOptions.MAX_CONNECTIONS : maxConnections;
    return maxConnectionsPerAddress == 0
        ? ConnectionLimits.exceptLoopback(max, Math.max(1, max / 2))
        : new ConnectionLimits(max, maxConnectionsPerAddress);
  }
}
