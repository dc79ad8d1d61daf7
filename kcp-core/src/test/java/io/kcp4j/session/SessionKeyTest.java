package io.kcp4j.session;

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
    KeyHash first = new KeyHash();
    KeyHash second = new KeyHash();
    assertNotEquals(first.of(first.address(remote), 7), second.of(second.address(remote), 7));
    assertNotEquals(first.prefix(remote), second.prefix(remote));
  }

  /** Ports and addresses that differ in the same bits: a sum would be one for many of them. */
  @Test
  void portsAndAddressesOfIpv6DoNotCancelEachOtherOut() throws UnknownHostException {
    KeyHash hash = new KeyHash();
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
}
