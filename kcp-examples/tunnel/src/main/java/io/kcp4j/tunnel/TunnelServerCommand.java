package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.TransportChoice;
import io.netty.channel.EventLoopGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code kcp tunnel-server}. */
@Command(
    name = "tunnel-server",
    description =
        "Carry TCP connections of tunnel-clients, through KCP, to a target. Compatible with "
            + "kcptun: options, configuration files and protocol.")
public final class TunnelServerCommand extends TunnelCommand {

  private static final TunnelDefaults DEFAULTS = new TunnelDefaults(1024, 1024, 30);

  @Option(
      names = {"-l", "--listen"},
      paramLabel = "HOST:PORT",
      defaultValue = ":29900",
      description = "The address to listen on, or HOST:MIN-MAX (default: ${DEFAULT-VALUE}).")
  private String listen;

  @Option(
      names = {"-t", "--target"},
      paramLabel = "HOST:PORT",
      defaultValue = "127.0.0.1:12948",
      description = "The TCP server to connect to (default: ${DEFAULT-VALUE}).")
  private String target;

  @Option(
      names = "--max-connections",
      paramLabel = "N",
      defaultValue = "16384",
      description = "Most TCP connections of all clients (default: ${DEFAULT-VALUE}).")
  private int maxConnections;

  @Option(
      names = "--max-connections-per-address",
      paramLabel = "N",
      defaultValue = "4096",
      description =
          "Most TCP connections of clients of one address; of IPv6, of 56 bits of it "
              + "(default: ${DEFAULT-VALUE}).")
  private int maxConnectionsPerAddress;

  private PortRange listenAddress;
  private PortRange targetAddress;

  @Override
  TunnelDefaults defaults() {
    return DEFAULTS;
  }

  @Override
  void check() {
    listenAddress = PortRange.parse("--listen", listen);
    targetAddress = PortRange.single("--target", target);
    TunnelOptions.checked("--max-connections", maxConnections, 1, Integer.MAX_VALUE);
    TunnelOptions.checked(
        "--max-connections-per-address", maxConnectionsPerAddress, 1, Integer.MAX_VALUE);
  }

  @Override
  int maxThreads() {
    return Integer.MAX_VALUE;
  }

  /** Several sockets of one port, one for each event loop, are a feature of Linux. */
  @Override
  Tunnel start(EventLoopGroup group, int threads, TunnelContext context)
      throws CommandFailure, InterruptedException {
    boolean isShared =
        context.transport() == TransportChoice.EPOLL && listenAddress.ports() < threads;
    return TunnelServer.start(
        group,
        context,
        listenAddress,
        new RemoteHost(targetAddress),
        new ConnectionLimits(maxConnections, maxConnectionsPerAddress),
        isShared ? threads : 1);
  }
}
