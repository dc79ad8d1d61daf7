package io.kcp4j.tunnel;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.command.HostPort;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The resolved address of a host, and ports of it. Resolving blocks, so event loops use what {@link
 * #refresh} has found last. Thread-safe.
 */
final class RemoteHost {

  private final PortRange range;
  private volatile InetAddress address;

  /**
   * Resolves the host.
   *
   * @throws CommandFailure if that fails
   */
  RemoteHost(PortRange range) throws CommandFailure {
    this.range = range;
    address = range.first().remote().getAddress();
  }

  /** Resolves the host again; if that fails, the address stays. Blocks. */
  void refresh() {
    HostPort first = range.first();
    try {
      address = InetAddress.getByName(first.host());
    } catch (UnknownHostException e) {
      // The name service may be down: the host may still have its address.
    }
  }

  /** The address, with a random one of the ports. */
  InetSocketAddress next() {
    int port = range.first().port() + ThreadLocalRandom.current().nextInt(range.ports());
    return new InetSocketAddress(address, port);
  }

  @Override
  public String toString() {
    return range.toString();
  }
}
