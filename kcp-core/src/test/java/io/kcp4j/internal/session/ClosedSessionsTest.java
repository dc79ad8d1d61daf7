package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kcp4j.internal.path.SessionKey;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link ClosedSessions}: for a minute, and bounded. */
class ClosedSessionsTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 9);

  private final List<SessionKey> forgotten = new ArrayList<>();
  private final ClosedSessions closed = new ClosedSessions(forgotten::add);

  private static SessionKey key(int conv) {
    return new SessionKey(REMOTE, conv);
  }

  @Test
  void sessionIsRememberedForAMinute() {
    closed.add(key(1), 0, 0, 1_000_000);
    assertNotNull(closed.find(key(1), 60_999_999));
    assertNull(closed.find(key(1), 61_000_000));
    assertNull(closed.find(key(2), 1_000_000));
  }

  @Test
  void oldestAreForgottenFirst() {
    for (int conv = 0; conv < 10; conv++) {
      closed.add(key(conv), 0, 0, conv);
    }
    closed.forget(60_000_004);
    assertEquals(5, closed.size());
    assertEquals(List.of(key(0), key(1), key(2), key(3), key(4)), forgotten);
    assertNotNull(closed.find(key(5), 60_000_004));
  }

  @Test
  void sessionThatClosesAgainMovesToTheEndOfTheQueue() {
    closed.add(key(1), 0, 0, 0);
    closed.add(key(2), 0, 0, 10_000);
    closed.add(key(1), 0, 0, 30_000_000);
    closed.forget(60_010_000);
    assertEquals(1, closed.size());
    assertEquals(List.of(key(2)), forgotten);
    assertNotNull(closed.find(key(1), 60_010_000));
  }

  @Test
  void sessionThatBeginsAgainIsNotRemembered() {
    closed.add(key(1), 0, 0, 0);
    closed.remove(key(1));
    closed.forget(60_000_000);
    assertNull(closed.find(key(1), 0));
    assertEquals(List.of(), forgotten);
  }

  @Test
  void noMoreThan65536AreRemembered() {
    for (int conv = 0; conv <= 65_536; conv++) {
      closed.add(key(conv), 0, 0, 0);
    }
    assertEquals(65_536, closed.size());
    assertEquals(List.of(key(0)), forgotten);
    assertNull(closed.find(key(0), 0));
    assertNotNull(closed.find(key(1), 0));
    assertNotNull(closed.find(key(65_536), 0));
  }
}
