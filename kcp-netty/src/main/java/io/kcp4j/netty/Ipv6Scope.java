package io.kcp4j.netty;

import java.net.Inet6Address;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/**
 * The scope of IPv6 addresses. Netty's native transports give global addresses the scope 0, which
 * is none, and which the text of the address has as {@code %0}. Such an address equals the one
 * without, but lists of addresses are often kept as text.
 */
final class Ipv6Scope {

  private static final int NO_SCOPE = -1;

  private Ipv6Scope() {}

  /** The address without the scope 0; null for null. */
  static InetSocketAddress withoutZero(InetSocketAddress address) {
    if (address == null) {
      return null;
    }
    if (!(address.getAddress() instanceof Inet6Address ipv6) || ipv6.getScopeId() != 0) {
      return address;
    }
    try {
      Inet6Address global = Inet6Address.getByAddress(null, ipv6.getAddress(), NO_SCOPE);
      return new InetSocketAddress(global, address.getPort());
    } catch (UnknownHostException e) {
      throw new AssertionError(e); // Only for another length.
    }
  }
}
