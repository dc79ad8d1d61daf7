package io.kcp4j.internal.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.path.AddressRateLimiter;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Many sessions whose peers have proven nothing: protocol.md 8.8. */
class UnvalidatedSessionsTest {

  private static final int LIMIT = 8;

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final TestDriver driver = TestDriver.builder(context).maxSessions(1_000).build();
  private final SessionTable table = driver.table;
  private long nowUs;

  @BeforeEach
  void limit() {
    driver.recordEvents();
    driver.trustsPeers = false;
    table.unvalidatedLimit(LIMIT);
  }

  /** A peer sends its first segment, or a further one. */
  private void send(int peer, int sn) {
    send(table, address(peer), peer, sn);
  }

  private void send(SessionTable to, InetSocketAddress remote, int conv, int sn) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, conv, Segment.PUSH, 0, 128, 1, sn, 0, 1);
    to.receive(remote, push.writeByte(0), nowUs);
    to.endBatch(nowUs);
  }

  /** The session that was accepted last. */
  private Session last() {
    return driver.accepted.get(driver.accepted.size() - 1);
  }

  private void end(Session session) {
    table.remove(session, nowUs);
    session.close();
  }

  private static InetSocketAddress address(int peer) {
    return new InetSocketAddress(NetUtil.LOCALHOST, peer);
  }

  private static InetSocketAddress addressOfNetwork(int network) {
    return new InetSocketAddress(NetUtil.intToIpAddress(10 << 24 | network << 8 | 1), 4000);
  }

  private void sendTwice(int peer) {
    send(peer, 0);
    send(peer, 0);
  }

  private List<String> ends() {
    return driver.events().stream().filter(event -> event.startsWith("ended")).toList();
  }

  private long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  @Test
  void underPressureClientsHaveToRepeatTheirFirstDatagram() {
    for (int peer = 1; peer <= LIMIT / 2 + 1; peer++) {
      send(peer, 0);
    }
    assertEquals(LIMIT / 2 + 1, table.size());
    send(100, 0);
    assertEquals(LIMIT / 2 + 1, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_DEFERRED));

    nowUs += 3_000_000;
    send(100, 0);
    assertEquals(LIMIT / 2 + 2, table.size());
  }

  @Test
  void manyNewSessionsWithinASecondArePressure() {
    table.unvalidatedLimit(4096);
    for (int peer = 1; peer <= 128; peer++) {
      send(peer, 0);
    }
    send(1_000, 0);
    assertEquals(128, table.size());
    assertEquals(1, count(KcpCounter.ACCEPT_DEFERRED));
    send(1_000, 0);
    assertEquals(129, table.size(), "it has been repeated");
    nowUs += 1_000_000;
    send(1_001, 0);
    assertEquals(130, table.size());
  }

  @Test
  void duringAFloodSessionsBeginOneAfterAnother() {
    table.unvalidatedLimit(4096);
    int peer = 1;
    for (int ms = 0; ms < 2_000; ms += 100, nowUs += 100_000) {
      int before = table.size();
      for (int i = 0; i < 200; i++) {
        send(peer++, 0);
      }
      if (ms > 0) {
        assertEquals(12.8, table.size() - before, 1, "after " + ms + " ms");
      }
    }
  }

  @Test
  void newSessionsThatEndAtOnceArePressure() {
    table.unvalidatedLimit(4096);
    for (int peer = 1; peer <= 200; peer++) {
      send(peer, 0);
      if (table.size() > 0) {
        end(last());
      }
    }
    assertEquals(128, count(KcpCounter.SESSIONS_OPENED));
  }

  @Test
  void pressureEndsSoonAfterALongFlood() {
    table.unvalidatedLimit(4096);
    int peer = 1;
    for (int ms = 0; ms < 10_000; ms += 10, nowUs += 10_000) {
      for (int i = 0; i < 100; i++) {
        int conv = peer++;
        for (int repeated = 0; repeated < 2; repeated++) {
          send(table, addressOfNetwork(conv), conv, 0);
        }
        List.copyOf(driver.accepted).forEach(this::end);
        driver.accepted.clear();
      }
      driver.events();
    }
    nowUs += 2_000_000;
    send(1, 0);
    assertEquals(1, driver.accepted.size());
  }

  @Test
  void clientsThatARetryHasValidatedDoNotEndThePressure() {
    UnvalidatedSessions sessions = new UnvalidatedSessions(null, MemoryBudget.unlimited());
    for (int i = 0; i < 1_000; i++) {
      sessions.add(driver.newSession(address(1), i), 0);
    }
    for (int i = 1_000; i < 2_000; i++) {
      Session session = driver.newSession(address(1), i);
      sessions.add(session, 0);
      sessions.validated(session, 0);
    }
    assertTrue(sessions.isUnderPressure(0));
  }

  @Test
  void sessionsBeyondTheRateGiveNothingBackWhenTheyAreValidated() {
    UnvalidatedSessions sessions = new UnvalidatedSessions(null, MemoryBudget.unlimited());
    List<Session> begun = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      begun.add(driver.newSession(address(1), i));
      sessions.add(begun.get(i), 0);
    }
    begun.subList(300, 1_000).forEach(session -> sessions.validated(session, 0));
    assertTrue(sessions.isUnderPressure(0));
  }

  @Test
  void oldestGivesWayIfNoneHoldsMemory() {
    UnvalidatedSessions sessions = new UnvalidatedSessions(null, MemoryBudget.unlimited());
    Session first = driver.newSession(address(1), 1);
    sessions.add(first, 1_000);
    sessions.add(driver.newSession(address(1), 2), 2_000);
    assertSame(first, sessions.oldestHolding(210_000));
    assertNull(sessions.oldestHolding(201_000), "it is too young");
  }

  @Test
  void attemptsAreRememberedWhileThePressureLasts() {
    nowUs = 10_000_000;
    for (int peer = 1; peer <= LIMIT / 2 + 1; peer++) {
      send(peer, 0);
    }
    send(100, 0);
    table.sweep(nowUs);
    send(100, 0);
    assertEquals(LIMIT / 2 + 2, table.size());
  }

  @Test
  void attemptsAfterAQuietPeriodDoNotSufferFromTheFloodBefore() {
    AddressRateLimiter.Sampled sampler = new AddressRateLimiter.Sampled(64, 64, 0);
    for (int i = 0; i < 1_000; i++) {
      sampler.tryTake(0);
    }
    for (int i = 0; i < 10; i++) {
      assertTrue(sampler.tryTake(10_000_000), "attempt " + i);
    }
  }

  @Test
  void newSessionsThatAreValidatedAreNoPressure() {
    table.unvalidatedLimit(4096);
    for (int peer = 1; peer <= 900; peer++) {
      send(peer, 0);
      table.lifecycle().validated(last(), nowUs);
    }
    assertEquals(900, table.size());
  }

  @Test
  void attemptsOfANetworkAreLimitedUnderPressure() {
    table.unvalidatedLimit(250);
    for (int peer = 1; peer <= 128; peer++) {
      send(peer, 0);
    }
    for (int i = 0; i < 300; i++, nowUs += 20_000) { // From all its hosts.
      InetSocketAddress remote = new InetSocketAddress("127.0.0." + i % 250, 1_000);
      send(table, remote, 1_000 + i, 0);
      send(table, remote, 1_000 + i, 0);
    }
    long begun = count(KcpCounter.SESSIONS_OPENED) - 128;
    assertEquals(32 + 16 * 6.0, (double) begun, 4);
    for (int i = 0; i < 2; i++) {
      send(table, new InetSocketAddress("127.0.1.1", 1), 9, 0);
    }
    assertEquals(128 + begun + 1, count(KcpCounter.SESSIONS_OPENED), "others are not concerned");
  }

  /** Those that its own limit refuses must not count among those of all. */
  @Test
  void attemptsOfANetworkBeyondItsLimitTakeNothingFromOthers() {
    table.unvalidatedLimit(250);
    for (int peer = 1; peer <= 128; peer++) {
      send(peer, 0);
    }
    int attempts = 0;
    int begun = 0;
    for (int ms = 0; ms < 4_000; ms++, nowUs += 1_000) {
      sendTwice(1_000 + ms);
      if (ms >= 2_000 && ms % 50 == 0) {
        long before = count(KcpCounter.SESSIONS_OPENED);
        for (int i = 0; i < 2; i++) {
          send(table, addressOfNetwork(ms), ms, 0);
        }
        attempts++;
        begun += (int) (count(KcpCounter.SESSIONS_OPENED) - before);
      }
    }
    assertTrue(begun >= attempts * 9 / 10, begun + " of " + attempts + " have begun");
  }

  @Test
  void attemptsUnderPressureAreLimited() {
    table.unvalidatedLimit(4096);
    for (int peer = 1; peer <= 128; peer++) {
      send(peer, 0);
    }
    for (int ms = 0; ms < 10_000; ms++, nowUs += 1_000) {
      for (int repeated = 0; repeated < 2; repeated++) {
        send(table, addressOfNetwork(ms), ms, 0);
      }
    }
    int begun = table.size() - 128;
    assertTrue(begun <= 64 + 640 + 640, begun + " have begun"); // 640 were not under pressure.
    assertTrue(begun >= 640, begun + " have begun");
  }

  @Test
  void attemptsAreChosenAtRandomAndNotTheFirst() {
    AddressRateLimiter.Sampled sampler = new AddressRateLimiter.Sampled(64, 64, 0);
    int chosen = 0;
    int chosenOfTheLast = 0;
    for (int period = 0; period < 200; period++, nowUs += 100_000) {
      for (int i = 0; i < 1_000; i++) {
        boolean isChosen = sampler.tryTake(nowUs);
        chosen += isChosen ? 1 : 0;
        chosenOfTheLast += isChosen && i >= 500 ? 1 : 0;
      }
    }
    assertTrue(chosen > 1_000 && chosen <= 64 * 21, chosen + " chosen");
    assertTrue(chosenOfTheLast > chosen / 3, chosenOfTheLast + " of " + chosen);
  }

  @Test
  void attemptIsForgotten() {
    for (int peer = 1; peer <= LIMIT / 2 + 1; peer++) {
      send(peer, 0);
    }
    send(100, 0);
    nowUs += 4_000_000;
    send(100, 0);
    assertEquals(2, count(KcpCounter.ACCEPT_DEFERRED));
  }

  @Test
  void oldestGivesWayToANewSession() {
    for (int peer = 1; peer <= LIMIT + 3; peer++) {
      sendTwice(peer);
    }
    assertEquals(LIMIT, table.size());
    assertEquals(List.of("ended 1 EVICTED", "ended 2 EVICTED", "ended 3 EVICTED"), ends());
    assertEquals(3, count(KcpCounter.SESSIONS_EVICTED));
    assertEquals(3, count(KcpCounter.SESSIONS_CLOSED));
    sendTwice(1);
    assertEquals(List.of("ended 4 EVICTED"), ends());
    assertEquals(0, count(KcpCounter.CLOSED_SESSION), "an evicted peer may try again");
  }

  @Test
  void clientThatSendsAgainStays() {
    for (int peer = 1; peer <= LIMIT; peer++) {
      sendTwice(peer);
    }
    nowUs += 1_000_000;
    send(1, 1);
    sendTwice(100);
    assertEquals(List.of("ended 2 EVICTED"), ends());
    for (int peer = 101; peer < 101 + LIMIT; peer++) {
      nowUs += 1_000_000;
      send(1, peer - 99);
      sendTwice(peer);
    }
    assertTrue(ends().stream().noneMatch(event -> event.equals("ended 1 EVICTED")));
  }

  @Test
  void oneGivesWayWhenTheTableIsFullOfThem() {
    int sessions = 100;
    TestDriver full = TestDriver.builder(context).maxSessions(sessions).build();
    full.recordEvents();
    full.trustsPeers = false;
    for (int peer = 1; peer <= sessions; peer++) {
      send(full.table, address(peer), peer, 0);
    }
    assertEquals(sessions, full.table.size());
    full.events();
    send(full.table, address(1_000), 1_000, 0);
    assertEquals(1, count(KcpCounter.ACCEPT_DEFERRED), "clients have to repeat the datagram");
    send(full.table, address(1_000), 1_000, 0);
    assertEquals(sessions, full.table.size());
    assertTrue(full.events().contains("ended 1 EVICTED"));
  }

  @Test
  void oneGivesWayThoughAllSendAgain() {
    for (int peer = 1; peer <= LIMIT; peer++) {
      sendTwice(peer);
    }
    nowUs += 1_000_000;
    for (int peer = 1; peer <= LIMIT; peer++) {
      send(peer, 1);
    }
    sendTwice(100);
    assertEquals(LIMIT, table.size());
    assertEquals(1, ends().size());
  }

  @Test
  void attemptThatIsRefusedEndsNoSession() {
    for (int peer = 1; peer <= LIMIT; peer++) {
      sendTwice(peer);
    }
    driver.acceptor = (remote, conv) -> null;
    sendTwice(100);
    assertEquals(LIMIT, table.size());
    assertEquals(0, count(KcpCounter.SESSIONS_EVICTED));
  }

  @Test
  void validatedSessionsDoNotCount() {
    for (int peer = 1; peer <= 100; peer++) {
      send(peer, 0);
      table.lifecycle().validated(last(), nowUs);
    }
    assertEquals(100, table.size());
    assertEquals(0, count(KcpCounter.ACCEPT_DEFERRED));
  }

  @Test
  void sessionsThatHaveEndedDoNotCount() {
    for (int peer = 1; peer <= 100; peer++) {
      send(peer, 0);
      end(last());
    }
    assertEquals(0, count(KcpCounter.ACCEPT_DEFERRED));
  }

  @Test
  void attemptsOfManyPeersAreToldApart() {
    AttemptFilter.RepeatFilter filter = new AttemptFilter.RepeatFilter(0);
    int taken = 0;
    for (int i = 0; i < 200_000; i++) {
      SessionKey key = new SessionKey(address(1 + i % 60_000), i);
      taken += filter.addAndTest(key, i * 10L) ? 1 : 0;
      assertTrue(filter.addAndTest(key, i * 10L));
    }
    assertTrue(taken < 100, taken + " first attempts were taken for repeated ones");
    assertFalse(filter.addAndTest(new SessionKey(address(1), -1), 60_000_000));
    assertFalse(filter.addAndTest(new SessionKey(address(1), 0), 60_000_000));
  }
}
