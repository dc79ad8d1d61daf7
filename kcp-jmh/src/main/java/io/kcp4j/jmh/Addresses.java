package io.kcp4j.jmh;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;

/** Distinct addresses of peers. */
final class Addresses {

  private static final int PORT = 40_000;

  private Addresses() {}

  /** The address of peer {@code i}: 0 to 2^24 - 1. */
  static InetSocketAddress of(int i) {
    return of(new byte[] {10, (byte) (i >> 16), (byte) (i >> 8), (byte) i}, PORT);
  }

  /** An equal address that shares no object with the given one, as a socket delivers them. */
  static InetSocketAddress copyOf(InetSocketAddress address) {
    return of(address.getAddress().getAddress(), address.getPort());
  }

  private static InetSocketAddress of(byte[] ip, int port) {
    try {
      return new InetSocketAddress(InetAddress.getByAddress(ip), port);
    } catch (UnknownHostException e) {
      throw new AssertionError("four bytes are an address", e);
    }
  }
}
