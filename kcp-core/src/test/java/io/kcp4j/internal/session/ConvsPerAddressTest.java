package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.KcpStarts;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How many sessions a remote address may have: {@link SessionTable#convsPerAddress}. */
class ConvsPerAddressTest {

  private static final int LIMIT = 2;

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final TestDriver driver = TestDriver.builder(context).maxSessions(1_000).build();
  private final SessionTable table = driver.table;
  private final InetSocketAddress address = new InetSocketAddress(NetUtil.LOCALHOST, 1);

  @BeforeEach
  void limit() {
    driver.recordEvents();
    driver.trustsPeers = false;
    table.convsPerAddress(LIMIT);
  }

  private Session begin(InetSocketAddress remote, int conv) {
    ByteBuf push = Unpooled.buffer();
    Segment.write(push, conv, Segment.PUSH, 0, 128, 1, 0, 0, 0);
    table.receive(remote, push, 0);
    table.endBatch(0);
    return driver.accepted.get(driver.accepted.size() - 1);
  }

  /** The server sends something, and the peer acknowledges it. */
  private void validate(Session session) {
    session.kcp().send(Unpooled.buffer().writeZero(1));
    table.scheduleFlush(session);
    table.flushPending(0);
    ByteBuf ack = Unpooled.buffer();
    int ts = KcpStarts.timestamp(session.kcp(), 0);
    Segment.write(ack, session.conv(), Segment.ACK, 0, 128, ts, 0, 1, 0);
    table.receive(session.remote(), ack, 0);
    table.endBatch(0);
  }

  private List<String> ends() {
    return driver.events().stream().filter(event -> event.startsWith("ended")).toList();
  }

  @Test
  void oldestEndsWhenAnotherOneIsValidated() {
    for (int conv = 1; conv <= LIMIT; conv++) {
      validate(begin(address, conv));
    }
    Session next = begin(address, LIMIT + 1);
    assertEquals(List.of(), ends(), "one that nobody has validated replaces nothing");
    validate(next);
    assertEquals(List.of("ended 1 SUPERSEDED"), ends());
    assertEquals(LIMIT, table.size());
  }

  @Test
  void unvalidatedSessionsDoNotCount() {
    for (int conv = 1; conv <= 10; conv++) {
      begin(address, conv);
    }
    validate(driver.accepted.get(8));
    validate(driver.accepted.get(2));
    assertEquals(List.of(), ends());
    validate(driver.accepted.get(5));
    assertEquals(List.of("ended 9 SUPERSEDED"), ends(), "it was validated first");
  }

  @Test
  void otherAddressesAndEndedSessionsDoNotCount() {
    for (int port = 1; port <= 10; port++) {
      validate(begin(new InetSocketAddress(NetUtil.LOCALHOST, port), 7));
    }
    for (int conv = 100; conv < 110; conv++) {
      Session session = begin(address, conv);
      validate(session);
      table.remove(session, 0);
      session.close();
    }
    assertEquals(List.of(), ends());
  }

  @Test
  void addressMayHaveAnyNumberByDefault() {
    table.convsPerAddress(0);
    for (int conv = 1; conv <= 100; conv++) {
      validate(begin(address, conv));
    }
    assertEquals(List.of(), ends());
  }
}
