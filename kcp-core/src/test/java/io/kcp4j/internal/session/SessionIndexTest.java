package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.path.SessionKey;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.Test;

/** {@link SessionIndex}: sessions with one key and with several. */
class SessionIndexTest {

  private static final InetSocketAddress REMOTE = new InetSocketAddress(NetUtil.LOCALHOST, 1111);
  private static final InetSocketAddress MOVED = new InetSocketAddress(NetUtil.LOCALHOST, 2222);

  private final TestDriver driver =
      TestDriver.of(KcpContext.of(new UnpooledByteBufAllocator(true, true)));
  private final SessionDirectory directory = SessionDirectory.ofSeveral(9);
  private final SessionIndex index = new SessionIndex(driver.table, directory);
  private final Session session = driver.newSession(REMOTE, 7);

  private static SessionKey key(InetSocketAddress remote, int conv) {
    return new SessionKey(remote, conv);
  }

  @Test
  void sessionIsFoundByAddressAndConv() {
    index.add(session);
    assertSame(session, index.find(REMOTE, 7));
    assertSame(session, index.find(new InetSocketAddress(NetUtil.LOCALHOST, 1111), 7));
    assertNull(index.find(REMOTE, 8));
    assertNull(index.find(MOVED, 7));
    assertEquals(key(MOVED, 7), index.lastKey());
  }

  @Test
  void sessionIsFoundByEachOfItsKeysAndCountsOnce() {
    index.add(session);
    index.addKey(session, key(MOVED, 7));
    assertSame(session, index.find(MOVED, 7));
    assertSame(session, index.find(REMOTE, 7));
    assertSame(session, index.find(MOVED, 7));
    assertEquals(1, index.size());
    assertEquals(List.of(session), index.sessions(any -> true));
  }

  @Test
  void removedSessionIsFoundByNoKey() {
    index.add(session);
    index.addKey(session, key(MOVED, 7));
    assertSame(session, index.find(MOVED, 7));
    index.remove(session, 0);
    assertNull(index.find(MOVED, 7));
    assertNull(index.find(REMOTE, 7));
    assertNotNull(index.findClosed(key(REMOTE, 7), 0));
    assertNotNull(index.findClosed(key(MOVED, 7), 59_999_999));
    assertNull(index.findClosed(key(MOVED, 7), 60_000_000));
    assertEquals(0, index.size());
  }

  @Test
  void keyOfAnotherSessionIsRefused() {
    index.add(session);
    Session other = driver.newSession(MOVED, 7);
    index.add(other);
    assertFalse(index.addKey(session, key(MOVED, 7)));
    assertSame(other, index.find(MOVED, 7));
  }

  @Test
  void keyThatBelongsToAnotherTableIsRefused() {
    index.add(session);
    TestDriver elsewhere = TestDriver.of(driver.context);
    assertTrue(directory.claim(key(MOVED, 7), elsewhere.table));
    assertFalse(index.addKey(session, key(MOVED, 7)));
    assertNull(index.find(MOVED, 7));
  }

  @Test
  void furtherKeyBelongsToTheTableUntilItIsForgotten() {
    index.add(session);
    index.addKey(session, key(MOVED, 7));
    assertEquals(1, directory.size());
    index.remove(session, 0);
    index.sweep(59_999_999);
    assertEquals(1, directory.size());
    index.sweep(60_000_000);
    assertEquals(0, directory.size());
  }

  /** Otherwise an entry would stay for each address that ever had a session. */
  @Test
  void addressIsForgottenWithItsLastSession() {
    SessionIndex.SessionsByAddress sessions = new SessionIndex.SessionsByAddress();
    Session other = driver.newSession(REMOTE, 8);
    sessions.add(REMOTE, session);
    sessions.add(REMOTE, other);
    sessions.remove(REMOTE, session);
    assertTrue(sessions.hasAny(REMOTE));
    assertSame(other, sessions.oldestBeyond(REMOTE, 0));
    sessions.remove(REMOTE, other);
    assertFalse(sessions.hasAny(REMOTE));
    assertNull(sessions.oldestBeyond(REMOTE, 0));
  }
}
