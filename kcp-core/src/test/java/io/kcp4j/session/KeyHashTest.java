package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

class KeyHashTest {

  private final KeyHash hash = new KeyHash(42);

  private static InetSocketAddress remote(String address, int port) {
    return new InetSocketAddress(address, port);
  }

  @Test
  void networkIs24BitsOfIpv4And56BitsOfIpv6() {
    assertEquals(hash.prefix(remote("192.0.2.1", 1)), hash.prefix(remote("192.0.2.254", 2)));
    assertNotEquals(hash.prefix(remote("192.0.2.1", 1)), hash.prefix(remote("192.0.3.1", 1)));
    int network = hash.prefix(remote("2001:db8:0:100::1", 1));
    assertEquals(network, hash.prefix(remote("2001:db8:0:1ff::2", 2)));
    assertNotEquals(network, hash.prefix(remote("2001:db8:0:200::1", 1)));
  }

  /** One of IPv4 is a number by itself, which no hash of one of IPv6 can be. */
  @Test
  void addressesOfBothVersionsAreToldApart() {
    long ipv4 = hash.address(remote("255.0.2.1", 65_535));
    assertEquals(0xff00_0201_ffffL, ipv4);
    for (int port = 1; port <= 100; port++) {
      assertTrue(hash.address(remote("2001:db8::1", port)) < 0);
      assertTrue(hash.address(InetSocketAddress.createUnresolved("host", port)) < 0);
    }
  }

  @Test
  void portAndEachPartOfAnAddressCount() {
    long first = hash.address(remote("2001:db8::1", 1));
    assertEquals(first, hash.address(remote("2001:db8::1", 1)));
    assertNotEquals(first, hash.address(remote("2001:db8::1", 2)));
    assertNotEquals(first, hash.address(remote("2001:db8::2", 1)));
    assertNotEquals(first, hash.address(remote("2001:db9::1", 1)));
    assertNotEquals(hash.of(first, 1), hash.of(first, 2));
  }

  @Test
  void nobodyKnowsAHashWithoutTheSeed() {
    KeyHash other = new KeyHash(43);
    InetSocketAddress ipv4 = remote("192.0.2.1", 1);
    InetSocketAddress ipv6 = remote("2001:db8::1", 1);
    assertNotEquals(hash.prefix(ipv4), other.prefix(ipv4));
    assertNotEquals(hash.host(ipv6), other.host(ipv6));
    assertNotEquals(hash.address(ipv6), other.address(ipv6));
    assertNotEquals(hash.of(7, 1), other.of(7, 1));
  }
}
