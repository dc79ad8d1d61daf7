package io.kcp4j.internal.path;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** {@link SessionKey}: equality, order, and keys that were chosen to collide. */
class SessionKeyTest {

  private static SessionKey key(String host, int port, int conv) {
    InetAddress address = NetUtil.createInetAddressFromIpAddressString(host);
    return new SessionKey(new InetSocketAddress(address, port), conv);
  }

  @Test
  void keysDifferByAddressPortAndConversation() {
    SessionKey key = key("10.0.0.1", 5, 7);
    assertEquals(key, key("10.0.0.1", 5, 7));
    assertEquals(key.hashCode(), key("10.0.0.1", 5, 7).hashCode());
    assertNotEquals(key, key("10.0.0.2", 5, 7));
    assertNotEquals(key, key("10.0.0.1", 6, 7));
    assertNotEquals(key, key("10.0.0.1", 5, 8));
    assertNotEquals(key, key("::1", 5, 7));
  }

  @Test
  void orderAgreesWithEquality() {
    List<SessionKey> keys =
        List.of(
            key("10.0.0.1", 5, 7),
            key("10.0.0.2", 5, 7),
            key("200.0.0.2", 5, 7),
            key("::1", 5, 7),
            key("10.0.0.1", 6, 7),
            key("10.0.0.1", 5, -7));
    for (SessionKey a : keys) {
      for (SessionKey b : keys) {
        assertEquals(a.equals(b), a.compareTo(b) == 0);
        assertEquals(Integer.signum(a.compareTo(b)), -Integer.signum(b.compareTo(a)));
      }
    }
  }

  @Test
  void hashesHaveASecretSeed() {
    InetSocketAddress remote = key("10.0.0.1", 5, 7).remote();
    SessionKey.Hash first = new SessionKey.Hash();
    SessionKey.Hash second = new SessionKey.Hash();
    assertNotEquals(first.of(first.address(remote), 7), second.of(second.address(remote), 7));
    assertNotEquals(first.prefix(remote), second.prefix(remote));
  }

  /** Ports and addresses that differ in the same bits: a sum would be one for many of them. */
  @Test
  void portsAndAddressesOfIpv6DoNotCancelEachOtherOut() throws UnknownHostException {
    SessionKey.Hash hash = new SessionKey.Hash();
    Set<Long> hashes = new HashSet<>();
    for (int port = 1; port <= 0xffff; port++) {
      byte[] address = {
        0x20, 1, (byte) (port >> 8), (byte) port, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
      };
      hashes.add(hash.address(new InetSocketAddress(InetAddress.getByAddress(address), port)));
    }
    assertEquals(0xffff, hashes.size());
  }

  /** The hash map keeps colliding keys in a tree; with a list this would take minutes. */
  @Test
  @Timeout(30)
  void collidingKeysAreFoundByTheirOrder() {
    List<SessionKey> colliding = new ArrayList<>();
    int hash = key("10.0.0.0", 1, 0).hashCode();
    int inverse = inverse(0x9e3779b9);
    for (int i = 0; i < 40_000; i++) {
      SessionKey other = key("10.0." + (i >> 8) + "." + (i & 0xff), 1, 0);
      colliding.add(new SessionKey(other.remote(), (hash - other.hashCode()) * inverse));
    }
    Map<SessionKey, Integer> map = new HashMap<>();
    for (int i = 0; i < colliding.size(); i++) {
      assertFalse(Thread.interrupted(), i + " keys within the timeout");
      assertEquals(hash, colliding.get(i).hashCode());
      assertNull(map.put(colliding.get(i), i));
    }
    for (int i = 0; i < colliding.size(); i++) {
      assertEquals(i, map.get(colliding.get(i)));
    }
    colliding.forEach(map::remove);
    assertTrue(map.isEmpty());
  }

  /** The inverse of an odd number modulo 2^32, by Newton's method. */
  private static int inverse(int odd) {
    int x = odd;
    for (int i = 0; i < 5; i++) {
      x *= 2 - odd * x;
    }
    return x;
  }

  private final SessionKey.Hash hash = new SessionKey.Hash(42);

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
    SessionKey.Hash other = new SessionKey.Hash(43);
    InetSocketAddress ipv4 = remote("192.0.2.1", 1);
    InetSocketAddress ipv6 = remote("2001:db8::1", 1);
    assertNotEquals(hash.prefix(ipv4), other.prefix(ipv4));
    assertNotEquals(hash.host(ipv6), other.host(ipv6));
    assertNotEquals(hash.address(ipv6), other.address(ipv6));
    assertNotEquals(hash.of(7, 1), other.of(7, 1));
  }
}
