package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.path.SessionKey;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** {@link SessionMap}, beside a {@link HashMap} that has the same content. */
class SessionMapTest {

  private final TestDriver driver =
      TestDriver.of(KcpContext.of(new UnpooledByteBufAllocator(true, true)));
  private final SessionMap map = new SessionMap();
  private final Map<SessionKey, Session> model = new HashMap<>();

  private Session session() {
    return driver.newSession(new InetSocketAddress(1), 1);
  }

  /** One of a thousand keys: of IPv4, IPv6 and unresolved addresses, some of which look alike. */
  private static SessionKey key(int i) throws UnknownHostException {
    int conv = i % 5 - 2;
    int port = i / 5 % 4 + 65_532;
    int host = i / 20;
    byte[] v4 = {127, 0, 0, (byte) host};
    byte[] v6 = {1, 0, 0, (byte) host, 0, 0, 0, (byte) -host, 0, 0, 0, 0, 0, 0, 0, 0}; // one sum
    return switch (host % 3) {
      case 0 -> new SessionKey(new InetSocketAddress(InetAddress.getByAddress(v4), port), conv);
      case 1 -> new SessionKey(new InetSocketAddress(InetAddress.getByAddress(v6), port), conv);
      default -> new SessionKey(InetSocketAddress.createUnresolved("host" + host, port), conv);
    };
  }

  private void check() throws UnknownHostException {
    for (int i = 0; i < 1_000; i++) {
      SessionKey key = key(i);
      assertSame(model.get(key), map.get(key.remote(), key.conv()), key::toString);
    }
    Set<SessionKey> keys = new HashSet<>();
    map.forEach((key, session) -> assertTrue(keys.add(key)));
    assertEquals(model.keySet(), keys);
  }

  @Test
  void emptyMapFindsNothing() throws UnknownHostException {
    check();
  }

  @Test
  void mapHasWhatWasPutAndNotRemoved() throws UnknownHostException {
    SplittableRandom random = new SplittableRandom(1);
    Session[] some = {session(), session(), session()};
    for (int round = 0; round < 200; round++) {
      boolean grows = round % 40 < 20;
      for (int j = 0; j < 50; j++) {
        SessionKey key = key(random.nextInt(1_000));
        if (random.nextInt(4) == 0 ^ grows) {
          Session session = some[random.nextInt(3)];
          assertEquals(model.putIfAbsent(key, session) == null, map.putIfAbsent(key, session));
        } else {
          model.remove(key);
          map.remove(key);
        }
      }
      check();
    }
  }

  @Test
  void manySessionsAreFound() throws UnknownHostException {
    Session session = session();
    InetAddress address = InetAddress.getByAddress(new byte[] {10, 1, 2, 3});
    InetSocketAddress remote = new InetSocketAddress(address, 5000);
    for (int conv = 0; conv < 50_000; conv++) {
      assertTrue(map.putIfAbsent(new SessionKey(remote, conv), session));
      assertFalse(map.putIfAbsent(new SessionKey(remote, conv), session));
    }
    for (int conv = 0; conv < 50_000; conv += 2) {
      map.remove(new SessionKey(remote, conv));
    }
    for (int conv = 0; conv < 50_000; conv++) {
      Session found = map.get(new InetSocketAddress(address, 5000), conv);
      if (conv % 2 == 0) {
        assertNull(found);
      } else {
        assertSame(session, found);
      }
    }
  }

  /** Without a seed, each map would have the keys in the same order. */
  @Test
  void keysAreHashedWithASecretSeed() throws UnknownHostException {
    assertNotEquals(orderOfKeys(), orderOfKeys());
  }

  private List<SessionKey> orderOfKeys() throws UnknownHostException {
    SessionMap filled = new SessionMap();
    for (int i = 0; i < 1_000; i++) {
      filled.putIfAbsent(key(i), session());
    }
    List<SessionKey> order = new ArrayList<>();
    filled.forEach((key, session) -> order.add(key));
    return order;
  }
}
