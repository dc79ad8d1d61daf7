package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A server that writes whatever its sessions take, many peers that close their windows, and an
 * honest one, all with one memory limit.
 */
class MemoryShareTest {

  private static final int LIMIT_BYTES = 1 << 20;
  private static final int CLOSED_PEERS = 200;
  private static final int HONEST_CONV = 10_000;
  private static final int HONEST_BYTES = 300_000;

  private static final InetSocketAddress CLOSED = InetSocketAddress.createUnresolved("closed", 1);
  private static final InetSocketAddress HONEST = InetSocketAddress.createUnresolved("honest", 1);

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final MemoryBudget budget = new MemoryBudget(LIMIT_BYTES);
  private final KcpContext context = new KcpContext(allocator, budget, new KcpCounters());
  private final TestDriver driver =
      TestDriver.builder(context).maxSessions(CLOSED_PEERS + 1).build();
  private final SessionTable table = driver.table;

  /** The data that each session still has to send. */
  private final Map<Session, ByteBuf> unsent = new HashMap<>();

  private final List<EndReason> ends = new ArrayList<>();
  private final Queue<ByteBuf> toHonest = new ArrayDeque<>();
  private final Queue<ByteBuf> toServer = new ArrayDeque<>();
  private Kcp honest;
  private int honestReceived;
  private int serverReceived;
  private long nowUs;

  private void start(Delivery delivery) {
    KcpConfig config = KcpConfig.builder().delivery(delivery).build();
    driver.config = config;
    driver.onProgress = this::readAndWrite;
    driver.onEnd = (session, reason) -> ends.add(reason);
    driver.output = remote -> to(remote.equals(HONEST) ? toHonest : new ArrayDeque<>());
    honest = new Kcp(HONEST_CONV, config, KcpContext.of(allocator), 0);
    for (int conv = 1; conv <= CLOSED_PEERS; conv++) {
      ByteBuf push = Unpooled.buffer();
      Segment.write(push, conv, Segment.PUSH, 0, 0, 0, 0, 0, 0);
      table.receive(CLOSED, push, nowUs);
      table.endBatch(nowUs);
    }
  }

  /** Advances the time by a millisecond. */
  private void step() {
    nowUs += 1_000;
    driver.deadlines.advance(nowUs);
    for (ByteBuf datagram; (datagram = toServer.poll()) != null; ) {
      table.receive(HONEST, datagram, nowUs);
    }
    table.endBatch(nowUs);
    for (ByteBuf datagram; (datagram = toHonest.poll()) != null; ) {
      honest.input(datagram, nowUs);
    }
    for (ByteBuf read; (read = honest.receive()) != null; read.release()) {
      honestReceived += read.readableBytes();
    }
    honest.afterInput(nowUs, to(toServer));
    if (honest.nextDeadline() <= nowUs) {
      honest.flush(nowUs, to(toServer));
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"STREAM", "MESSAGE"})
  void peersWithClosedWindowsLeaveMemoryToOthersUntilTheirWritesStall(Delivery delivery) {
    start(delivery);
    long ring = (delivery == Delivery.STREAM ? 8L : 16L) * 65; // A message has nine fragments.
    long least = ring + (delivery == Delivery.STREAM ? 2048 : 16_384);
    long mostBytes = LIMIT_BYTES / 2 + CLOSED_PEERS * least;
    assertTrue(budget.usedBytes() <= mostBytes, () -> budget.usedBytes() + " > " + mostBytes);

    ByteBuf upload = Unpooled.buffer().writeZero(HONEST_BYTES);
    while ((serverReceived < HONEST_BYTES || honestReceived < HONEST_BYTES) && nowUs < 20_000_000) {
      while (upload.isReadable() && honest.isSendable()) {
        ByteBuf message = upload.readSlice(Math.min(10_000, upload.readableBytes()));
        honest.send(message);
        upload.readerIndex(upload.readerIndex() - message.readableBytes());
      }
      honest.afterSend(nowUs, to(toServer));
      step();
    }
    assertEquals(HONEST_BYTES, serverReceived, "sent to the server");
    assertEquals(HONEST_BYTES, honestReceived, "sent by the server");
    assertEquals(0, context.total().get(KcpCounter.OVER_BUDGET));
    assertEquals(0, context.total().get(KcpCounter.RETRANSMITTED));
    assertEquals(List.of(), ends);

    while (nowUs < 60_100_000) {
      step();
    }
    assertEquals(CLOSED_PEERS, ends.size());
    assertTrue(ends.stream().allMatch(EndReason.ZERO_WINDOW_TIMEOUT::equals));
    assertEquals(0, budget.usedBytes());
    honest.close();
  }

  private void readAndWrite(Session session) {
    for (ByteBuf read; (read = session.kcp().receive()) != null; read.release()) {
      serverReceived += read.readableBytes();
    }
    ByteBuf data =
        unsent.computeIfAbsent(session, begun -> Unpooled.buffer().writeZero(HONEST_BYTES));
    boolean isWhole = true;
    while (isWhole && data.isReadable()) {
      ByteBuf message = data.slice(data.readerIndex(), Math.min(10_000, data.readableBytes()));
      isWhole = session.kcp().send(message);
      data.skipBytes(message.readerIndex());
    }
    table.scheduleFlush(session);
  }

  private static DatagramOutput to(Queue<ByteBuf> queue) {
    return new DatagramOutput() {
      private ByteBuf datagram;

      @Override
      public ByteBuf begin(int maxBytes) {
        datagram = Unpooled.buffer(maxBytes, maxBytes);
        return datagram;
      }

      @Override
      public void end() {
        queue.add(datagram);
      }
    };
  }
}
