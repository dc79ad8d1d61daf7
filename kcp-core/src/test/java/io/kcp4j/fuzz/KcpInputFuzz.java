package io.kcp4j.fuzz;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpMode;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.KcpStarts;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;

/**
 * Gives a session arbitrary datagrams, from the network or recovered, while it sends, receives,
 * waits and changes its settings. What it sends is well formed, its memory stays within its limit,
 * and it holds nothing in the end.
 */
public final class KcpInputFuzz {

  private static final int CONV = 0x00c0ffee;
  private static final int LIMIT_BYTES = 60_000;

  /** The queue and the window of the largest configuration, by capacity. */
  private static final int MAX_SENT_BYTES = 256 * 1024;

  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);
  private static final ByteBuf DATAGRAM = Unpooled.buffer(4096, 4096);
  private static final ByteBuf SENT = Unpooled.wrappedBuffer(new byte[4096]);
  private static final int[] FIRST_SNS = {0, -3, Integer.MIN_VALUE - 3, 77};

  private static final CongestionControl.Factory[] CONTROLS = {
    CongestionControl.NONE, CongestionControl.RENO, CongestionControl.BBR
  };

  private static final KcpConfig[] CONFIGS = configs();

  private final FuzzInput input;
  private final MemoryBudget budget = new MemoryBudget(LIMIT_BYTES);
  private final FuzzOutput output;
  private final Kcp kcp;
  private KcpConfig config;
  private long nowUs = 1_000_000;

  private KcpInputFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int kind = input.unsignedByte();
    config = CONFIGS[kind & 7];
    int firstSn = FIRST_SNS[kind >> 3 & 3];
    KcpContext context = new KcpContext(ALLOCATOR, budget, new KcpCounters());
    kcp = KcpStarts.kcp(CONV, config, context, kind << 24, firstSn);
    output = new FuzzOutput(CONV, firstSn);
  }

  private static KcpConfig[] configs() {
    KcpConfig[] configs = new KcpConfig[8];
    for (int i = 0; i < configs.length; i++) {
      configs[i] =
          KcpConfig.builder()
              .mode(i % 2 == 0 ? KcpMode.FAST3 : KcpMode.NORMAL)
              .delivery(i % 4 < 2 ? Delivery.STREAM : Delivery.MESSAGE)
              .congestionControl(CONTROLS[i / 3])
              .sendWindow(8 + 8 * i)
              .receiveWindow(4 + 20 * i)
              .sendQueue(16)
              .mtuBytes(100 + 50 * i)
              .ackNoDelay(i % 3 == 0)
              .userTimeoutMs(i == 6 ? 1_000 : 30_000)
              .build();
    }
    return configs;
  }

  /** One session. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    KcpInputFuzz fuzz = new KcpInputFuzz(bytes);
    try {
      fuzz.run();
    } finally {
      fuzz.kcp.close();
    }
    Check.that(fuzz.budget.usedBytes() == 0, "still charged when closed");
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks");
  }

  private void run() {
    while (!input.isAtEnd()) {
      step();
      Check.that(budget.usedBytes() <= LIMIT_BYTES + MAX_SENT_BYTES, "beyond its memory");
    }
  }

  private void step() {
    int op = input.unsignedByte();
    switch (op & 15) {
      case 0, 1, 2, 3, 4 -> input(op >= 224 ? Origin.RECOVERED : Origin.NETWORK);
      case 5 -> noise();
      case 6, 7 -> send(input.unsignedByte() << (op >> 6));
      case 8 -> receive(op >> 4);
      case 9 -> kcp.afterInput(nowUs, output);
      case 10 -> kcp.afterSend(nowUs, output);
      case 11 -> flush();
      case 12 -> sleep(input.unsignedByte(), op >> 4);
      case 13 -> sleepUntilDeadline();
      case 14 -> reconfigure();
      default -> kcp.probe();
    }
  }

  private void input(Origin origin) {
    DATAGRAM.clear();
    DATAGRAM.writeZero(input.below(4));
    DATAGRAM.readerIndex(DATAGRAM.writerIndex());
    FuzzSegments.write(DATAGRAM, input, CONV, output);
    takeIn(origin);
  }

  private void noise() {
    DATAGRAM.clear().writeBytes(input.take(input.below(3 * Segment.HEADER_BYTES)));
    takeIn(Origin.NETWORK);
  }

  private void takeIn(Origin origin) {
    int from = DATAGRAM.readerIndex();
    int to = DATAGRAM.writerIndex();
    Check.that(kcp.input(DATAGRAM, origin, nowUs) != null, "no result");
    Check.that(
        DATAGRAM.readerIndex() == from && DATAGRAM.writerIndex() == to && DATAGRAM.refCnt() == 1,
        "changed the datagram");
  }

  private void send(int bytes) {
    if (config.delivery() == Delivery.MESSAGE) {
      SENT.setIndex(0, Math.min(bytes, kcp.maxMessageBytes()));
    } else {
      SENT.setIndex(0, bytes);
    }
    boolean isSendable = kcp.isSendable();
    boolean isWhole = kcp.send(SENT);
    Check.that(isSendable || SENT.readerIndex() == 0, "took what it has no room for");
    Check.that(isWhole == !SENT.isReadable() || SENT.writerIndex() == 0, "half taken");
  }

  private void receive(int most) {
    for (int i = 0; i <= most && kcp.isReceivable(); i++) {
      ByteBuf received = kcp.receive();
      Check.that(received != null, "receivable, but nothing to receive");
      Check.that(received.refCnt() == 1, "of several owners");
      received.release();
    }
    if (!kcp.isReceivable()) {
      Check.that(kcp.receive() == null, "not receivable, but received");
    }
  }

  private void flush() {
    kcp.flush(nowUs, output);
    Check.that(
        kcp.failure() != null || kcp.nextDeadline() > nowUs, "due again as soon as it was flushed");
  }

  private void sleep(int ms, int sixteenths) {
    nowUs += 1_000L * ms + 1_000 * sixteenths / 16;
  }

  private void sleepUntilDeadline() {
    if (kcp.nextDeadline() != Time.NO_DEADLINE) {
      nowUs = Math.max(nowUs, kcp.nextDeadline());
      flush();
    }
  }

  private void reconfigure() {
    KcpConfig.Builder next = config.toBuilder().mtuBytes(60 + input.unsignedByte());
    if (config.delivery() == Delivery.STREAM) {
      next.receiveWindow(1 + input.unsignedByte());
    }
    config = next.build();
    kcp.reconfigure(config, input.below(28));
  }
}
