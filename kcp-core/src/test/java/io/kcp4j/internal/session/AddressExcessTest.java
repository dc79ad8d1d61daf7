package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What all conversations of an address together are sent beyond the limit: protocol.md 8.7. */
class AddressExcessTest {

  private static final int SMALL_BYTES = 64;
  private static final int RESPONSE_BYTES = 10_000;
  private static final int ROUND_TRIP_MS = 40;

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final TimerWheel deadlines = new TimerWheel(0);
  private final SessionDirectory directory = SessionDirectory.ofSeveral(100_000);
  private final List<ByteBuf> sent = new ArrayList<>();
  private final TreeMap<Long, Runnable> arriving = new TreeMap<>();
  private final List<Session> accepted = new ArrayList<>();
  private final SessionTable table = table();
  private long nowUs;

  private SessionTable table() {
    TestDriver driver =
        TestDriver.builder(context).deadlines(deadlines).directory(directory).build();
    driver.trustsPeers = false;
    driver.acceptor =
        (remote, conv) -> {
          Session session = driver.newSession(remote, conv);
          accepted.add(session);
          return session;
        };
    driver.output = remote -> new Output();
    driver.onProgress =
        session -> {
          ByteBuf request = session.kcp().receive();
          if (request != null) {
            request.release();
            session.kcp().send(Unpooled.buffer().writeZero(RESPONSE_BYTES));
            driver.table.scheduleFlush(session);
          }
        };
    return driver.table;
  }

  @BeforeEach
  void acceptAll() {
    table.unvalidatedLimit(10_000);
  }

  private final class Output implements DatagramOutput {
    private ByteBuf datagram;

    @Override
    public ByteBuf begin(int maxBytes) {
      datagram = Unpooled.buffer(maxBytes, maxBytes);
      return datagram;
    }

    @Override
    public void end() {
      sent.add(datagram);
    }
  }

  private static ByteBuf request(int conv, int bytes) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, conv, Segment.PUSH, 0, 128, 1, 0, 0, bytes);
    return push.writeZero(bytes);
  }

  private static InetSocketAddress address(int port) {
    return new InetSocketAddress("192.0.2.1", port);
  }

  private void runTo(long untilUs, SessionTable... tables) {
    while (nowUs < untilUs) {
      nowUs += 1_000;
      deadlines.advance(nowUs);
      for (SessionTable table : tables) {
        table.endBatch(nowUs);
        if (nowUs % 1_000_000 == 0) {
          table.sweep(nowUs);
        }
      }
    }
  }

  private int sentBytes() {
    return sent.stream().mapToInt(ByteBuf::readableBytes).sum();
  }

  /** Each socket by itself is not under pressure. */
  @Test
  void conversationsOfAForgedAddressAreSentThreeBytesForEachAndFewSmallSegments() {
    SessionTable other = table();
    other.unvalidatedLimit(10_000);
    int received = 0;
    for (int conv = 1; conv <= 1_000; conv++) {
      ByteBuf request = request(conv, conv % 4 / 2);
      received += request.readableBytes();
      (conv % 2 == 0 ? table : other).receive(address(1 + conv % 100), request, nowUs);
      runTo(nowUs + 5_000, table, other);
    }
    assertEquals(1_000, table.size() + other.size());
    runTo(120_000_000, table, other);
    int seconds = 120;
    int small = 64 + 64 * 5 + 64 + 8 * seconds;
    int bytes = sentBytes();
    assertTrue(bytes <= 3 * received + small * SMALL_BYTES, bytes + " bytes for " + received);
    assertTrue(context.total().get(KcpCounter.OVER_ADDRESS_LIMIT) > 0);
  }

  /** Each asks for little and gets much. */
  @Test
  void playersBehindOneAddressBeginWithinAFewSeconds() {
    int players = 200;
    for (int i = 0; i < players; i++) {
      at(i * 10_000L, request(i + 1, 1 + i % 4), i + 1);
    }
    while (nowUs < 4_000_000) {
      runTo(nowUs + 1_000, table);
      for (ByteBuf datagram : sent) {
        acknowledge(datagram);
      }
      sent.clear();
      while (!arriving.isEmpty() && arriving.firstKey() <= nowUs) {
        arriving.pollFirstEntry().getValue().run();
      }
    }
    assertEquals(players, accepted.size());
    assertEquals(players, accepted.stream().filter(s -> s.path().isValidated()).count());
  }

  private void at(long atUs, ByteBuf datagram, int conv) {
    arriving.merge(
        atUs,
        () -> table.receive(address(conv), datagram, nowUs),
        (first, second) ->
            () -> {
              first.run();
              second.run();
            });
  }

  private void acknowledge(ByteBuf datagram) {
    for (int i = 0; i < datagram.writerIndex(); ) {
      if (Segment.cmd(datagram, i) == Segment.PUSH) {
        int conv = Segment.conv(datagram, i);
        ByteBuf ack = Unpooled.buffer();
        int una = Segment.sn(datagram, i) + 1;
        Segment.write(ack, conv, Segment.ACK, 0, 128, Segment.ts(datagram, i), una - 1, una, 0);
        at(nowUs + ROUND_TRIP_MS * 1_000, ack, conv);
      }
      i += Segment.HEADER_BYTES + Segment.length(datagram, i);
    }
  }

  /** How many of as many conversations, from this one on, are sent an answer at once. */
  private long answered(int firstConv, int count) {
    for (int conv = firstConv; conv < firstConv + count; conv++) {
      table.receive(address(conv), request(conv, 1), nowUs);
    }
    table.endBatch(nowUs);
    long answered = sent.stream().filter(AddressExcessTest::hasPush).count();
    sent.clear();
    return answered;
  }

  private static boolean hasPush(ByteBuf datagram) {
    int index = 0;
    while (index < datagram.writerIndex() && Segment.cmd(datagram, index) != Segment.PUSH) {
      index += Segment.HEADER_BYTES + Segment.length(datagram, index);
    }
    return index < datagram.writerIndex();
  }

  /** The answer to a byte exceeds three times that datagram. */
  @Test
  void addressIsSentAsManyFirstAnswersAsTimeHasPassedFor() {
    nowUs = 10_000_000;
    assertEquals(64, answered(1, 100));
    assertEquals(0, answered(101, 10));
    nowUs += 500_000;
    long answered = answered(201, 100);
    assertTrue(answered >= 31 && answered <= 33, "" + answered);
  }

  @Test
  void tokensReturnAndAddressesHaveTheirOwn() {
    Path.AddressExcess excess = new Path.AddressExcess();
    InetSocketAddress first = address(1);
    for (int i = 0; i < 64; i++) {
      assertTrue(excess.takeFirst(first, 0));
      assertTrue(excess.takeFurther(address(i), 0));
    }
    assertFalse(excess.hasFirst(address(2), 0), "the port does not matter");
    assertFalse(excess.takeFurther(first, 0));
    InetSocketAddress neighbour = new InetSocketAddress("192.0.2.2", 1);
    assertTrue(excess.takeFirst(neighbour, 0));
    assertTrue(excess.takeFirst(first, 15_626));
    assertTrue(excess.takeFurther(first, 125_001));
  }

  @Test
  void hostsOfIpv6AreToldApartByTheir56Bits() {
    SessionKey.Hash hash = new SessionKey.Hash();
    InetSocketAddress first = new InetSocketAddress("2001:db8:0:1::1", 1);
    assertEquals(hash.host(first), hash.host(new InetSocketAddress("2001:db8:0:ff:9::2", 2)));
    assertTrue(hash.host(first) != hash.host(new InetSocketAddress("2001:db8:0:100::1", 1)));
    InetSocketAddress ipv4 = new InetSocketAddress("192.0.2.1", 1);
    assertEquals(hash.host(ipv4), hash.host(new InetSocketAddress("192.0.2.1", 2)));
    assertTrue(hash.host(ipv4) != hash.host(new InetSocketAddress("192.0.2.2", 1)));
  }
}
