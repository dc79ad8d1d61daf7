package io.kcp4j.internal.path;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.path.AddressRateLimiter.Scope;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** {@link AddressRateLimiter}: that each address or network has a bucket of its own. */
class AddressRateLimiterTest {

  private final AddressRateLimiter hosts = limiter(Scope.HOST);
  private final AddressRateLimiter networks = limiter(Scope.NETWORK);

  private static AddressRateLimiter limiter(Scope scope) {
    return new AddressRateLimiter(scope, 4_096, 100, 10, new SessionKey.Hash(1));
  }

  private static InetSocketAddress remote(String host, int port) {
    return new InetSocketAddress(host, port);
  }

  private static int takeAll(AddressRateLimiter limiter, InetSocketAddress remote, long nowUs) {
    int taken = 0;
    while (limiter.tryTake(remote, nowUs)) {
      taken++;
    }
    return taken;
  }

  @Test
  void hostHasOneBucketForAllItsPorts() {
    assertEquals(10, takeAll(hosts, remote("192.0.2.1", 1), -5));
    assertFalse(hosts.hasToken(remote("192.0.2.1", 2), -5));
    assertTrue(hosts.hasToken(remote("192.0.2.2", 1), -5));
    assertEquals(1, takeAll(hosts, remote("192.0.2.1", 2), 9_996));
  }

  @Test
  void networkHasOneBucketForAllItsHosts() {
    assertEquals(10, takeAll(networks, remote("192.0.2.1", 1), 0));
    assertFalse(networks.hasToken(remote("192.0.2.2", 1), 0));
    assertTrue(networks.hasToken(remote("192.0.3.1", 1), 0));
  }

  @Test
  void noMoreIsOwedThanABucketHolds() {
    InetSocketAddress remote = remote("192.0.2.1", 1);
    takeAll(hosts, remote, 0);
    for (int i = 0; i < 10; i++) {
      assertTrue(hosts.takeOrOwe(remote, 0));
    }
    assertFalse(hosts.takeOrOwe(remote, 0), "nothing was taken");
    assertEquals(0, takeAll(hosts, remote, 100_000));
    assertEquals(1, takeAll(hosts, remote, 110_000));
  }
}
