package io.kcp4j.load;

import java.net.InetSocketAddress;
import java.net.SocketAddress;
import picocli.CommandLine.Option;

/** A process is a server or a client: one of two addresses is given. */
final class LoadRole {

  @Option(
      names = "--listen",
      required = true,
      paramLabel = "HOST:PORT",
      description = "Be a server; port 0 selects a free port.")
  private InetSocketAddress local;

  @Option(
      names = "--remote",
      required = true,
      paramLabel = "HOST:PORT",
      description = "Be a client of this server.")
  private InetSocketAddress remote;

  /** The address of a server, or null for a client. */
  InetSocketAddress local() {
    return local;
  }

  /** The address of a client's server. */
  InetSocketAddress remote() {
    return remote;
  }

  /** The address that the command line names. */
  static InetSocketAddress address(String hostPort) {
    int colon = hostPort.lastIndexOf(':');
    return new InetSocketAddress(
        hostPort.substring(0, colon), Integer.parseInt(hostPort.substring(colon + 1)));
  }

  /** The first line that a server prints. */
  static String listening(SocketAddress bound) {
    InetSocketAddress address = (InetSocketAddress) bound;
    return "listening " + address.getAddress().getHostAddress() + ":" + address.getPort();
  }
}
