package io.kcp4j.fuzz;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * Gives a table of sessions arbitrary packets, sealed or not: segments, FEC data of a real encoder,
 * parity, unreliable datagrams and noise, from two addresses with two conversations each, while
 * sessions write, change their FEC and close. The table keeps to the limits on sessions and memory,
 * and holds nothing in the end.
 */
public final class SessionTableFuzz {

  private static final int MAX_SESSIONS = 3;
  private static final int LIMIT_BYTES = 60_000;
  private static final int MAX_SENT_BYTES = 512 * 1024;
  private static final int MTU = 200;
  private static final int UNRELIABLE_LIMIT = 3;

  private static final KcpConfig CONFIG =
      KcpConfig.builder().sendWindow(16).receiveWindow(16).sendQueue(16).mtuBytes(MTU).build();

  private static final FecConfig[] FECS = {
    FecConfig.NONE, FecConfig.of(2, 1), FecConfig.of(1, 1), FecConfig.of(3, 2), FecConfig.of(2, 2)
  };

  private static final InetSocketAddress[] REMOTES = {
    new InetSocketAddress(InetAddress.getLoopbackAddress(), 4001),
    new InetSocketAddress(InetAddress.getLoopbackAddress(), 4002)
  };

  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);
  private static final FecContext FEC = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
  private static final KeyRing CHECKED =
      KeyRing.of(PacketKey.of(CipherAlgorithm.NONE, new byte[0]));
  private static final PacketCipher[] CIPHERS = {KeyRing.NONE.newCipher(), CHECKED.newCipher()};

  private static final ByteBuf OUT = Unpooled.buffer(4096, 4096);
  private static final ByteBuf PACKET = Unpooled.buffer(4096, 4096);
  private static final ByteBuf[] PARITY = {Unpooled.buffer(2048), Unpooled.buffer(2048)};
  private static final ByteBuf SENT = Unpooled.wrappedBuffer(new byte[4096]);
  private static final PacketBatch BATCH = new PacketBatch();

  private final FuzzInput input;
  private final MemoryBudget budget = new MemoryBudget(LIMIT_BYTES);
  private final KcpContext context = new KcpContext(ALLOCATOR, budget, new KcpCounters());
  private final PacketCipher cipher;
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver;
  private final SessionTable table;
  private final List<Session> sessions = new ArrayList<>();
  private final FuzzOutput near = new FuzzOutput(0, 0);
  private final MemoryBudget peersBudget = MemoryBudget.unlimited();
  private final FecEncoder peer;
  private long nowUs;

  private SessionTableFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int kind = input.unsignedByte();
    cipher = CIPHERS[kind & 1];
    peer = new FecEncoder(FECS[1 + (kind >> 1) % 3], FEC.withMemory(MemoryAccount.of(peersBudget)));
    driver =
        TestDriver.builder(context)
            .cipher(cipher)
            .fecContext(FEC)
            .deadlines(deadlines)
            .maxSessions(MAX_SESSIONS)
            .build();
    table = driver.table;
    driver.acceptor = this::accept;
    driver.onProgress = this::progressed;
    driver.onEnd = (session, reason) -> sessions.remove(session);
    driver.output = remote -> new CheckedOutput();
    driver.outputWritable = () -> !input.oneIn(16);
    table.acceptOnProbe((kind & 0x40) != 0);
  }

  /** One table. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    SessionTableFuzz fuzz = new SessionTableFuzz(bytes);
    try {
      fuzz.run();
    } finally {
      fuzz.closeAll();
    }
    Check.that(fuzz.table.size() == 0, "sessions left");
    Check.that(fuzz.budget.usedBytes() == 0, "still charged when all are closed");
    Check.that(fuzz.peersBudget.usedBytes() == 0, "an encoder leaks");
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks");
  }

  private void run() {
    while (!input.isAtEnd()) {
      step();
      Check.that(table.size() <= MAX_SESSIONS, "more sessions than allowed");
      Check.that(table.size() == sessions.size(), "sessions without an owner");
      Check.that(budget.usedBytes() <= LIMIT_BYTES + MAX_SENT_BYTES, "beyond its memory limit");
    }
    table.endBatch(nowUs);
  }

  private void closeAll() {
    while (!sessions.isEmpty()) {
      close(sessions.get(0));
    }
    peer.close();
  }

  private void step() {
    int op = input.unsignedByte();
    switch (op & 15) {
      case 0, 1 -> receiveSegments(op >> 4);
      case 2, 3, 4, 5 -> receiveFecData(op >> 4);
      case 6 -> receiveUnreliable(op >> 4);
      case 7 -> receiveMadeUp(op >> 4);
      case 8 -> table.endBatch(nowUs);
      case 9 -> advance(input.unsignedByte() << (op >> 5), op >> 4 & 1);
      case 10 -> table.flushPending(nowUs);
      case 11 -> withSession(this::write);
      case 12 ->
          withSession(
              session ->
                  session.reconfigure(session.kcp().config(), FECS[input.below(FECS.length)]));
      case 13 -> withSession(this::writeUnreliable);
      case 14 -> withSession(this::close);
      default -> peer.dropGroup();
    }
  }

  private interface Action {
    void of(Session session);
  }

  private void withSession(Action action) {
    if (!sessions.isEmpty()) {
      action.of(sessions.get(input.below(sessions.size())));
    }
  }

  private void advance(int ms, int halves) {
    nowUs += 1_000L * ms + 500L * halves;
    deadlines.advance(nowUs);
    table.sweep(nowUs);
    table.flushPending(nowUs);
  }

  // Input

  private static int conv(int kind) {
    return 1 + (kind >> 1 & 1);
  }

  private void begin() {
    PACKET.setIndex(1, 1).writeZero(cipher.headroom());
  }

  private void receiveSegments(int kind) {
    begin();
    FuzzSegments.write(PACKET, input, conv(kind), near);
    receive(kind);
  }

  /** What a real encoder makes of it; it may be lost, and its parity with it. */
  private void receiveFecData(int kind) {
    begin();
    int index = PACKET.writerIndex();
    PACKET.writeZero(FecPacket.DATA_HEADER_BYTES);
    FuzzSegments.write(PACKET, input, conv(kind), near);
    near.rcvNxt++;
    int parity = peer.protect(PACKET, index, PACKET.writerIndex(), nowUs);
    for (int i = 0; i < parity; i++) {
      peer.writeParity(i, PARITY[i].clear());
    }
    if ((kind & 12) != 12) {
      receive(kind);
    }
    for (int i = 0; i < parity; i++) {
      begin();
      PACKET.writeBytes(PARITY[i]);
      receive(kind);
    }
  }

  private void receiveUnreliable(int kind) {
    begin();
    int index = PACKET.writerIndex();
    PACKET.writeZero(FecPacket.DATA_HEADER_BYTES).writeIntLE(conv(kind));
    PACKET.writeZero(input.below(100));
    int end = PACKET.writerIndex();
    FecPacket.write(PACKET, index, end, FecPacket.OUT_OF_BAND_SEQID, FecPacket.OUT_OF_BAND);
    receive(kind);
  }

  private void receiveMadeUp(int kind) {
    begin();
    PACKET.writeIntLE(input.signedByte()).writeShortLE(FecPacket.DATA + input.below(4));
    PACKET.writeBytes(input.take(input.below(64)));
    receive(kind);
  }

  private void receive(int kind) {
    PACKET.writeZero(cipher.tailroom());
    BATCH.reset(PACKET).add(1, PACKET.writerIndex());
    cipher.seal(BATCH);
    if (input.oneIn(8)) {
      int at = 1 + input.below(Math.min(256, PACKET.readableBytes()));
      PACKET.setByte(at, PACKET.getByte(at) ^ input.unsignedByte());
    }
    table.receive(REMOTES[kind & 1], PACKET, nowUs);
    Check.that(PACKET.refCnt() == 1, "kept the packet");
  }

  // What sessions do

  private void write(Session session) {
    SENT.setIndex(0, input.unsignedShort() % 3000);
    session.kcp().send(SENT);
    table.scheduleFlush(session);
  }

  private void writeUnreliable(Session session) {
    int max = session.maxUnreliableBytes();
    if (max > 0) {
      int bytes = input.unsignedByte() % (max + 1);
      session.sendUnreliable(ALLOCATOR.buffer(bytes).writeZero(bytes));
      table.scheduleFlush(session);
    }
  }

  private void close(Session session) {
    sessions.remove(session);
    table.remove(session, nowUs);
    session.close();
  }

  // The table's driver

  private Session accept(InetSocketAddress remote, int conv) {
    if (input.oneIn(8)) {
      return null;
    }
    Session session = driver.newSession(remote, new Kcp(conv, CONFIG, context, 0));
    session.reconfigure(CONFIG, FECS[input.below(FECS.length)]);
    TestDriver.configure(
        session, config -> config.datagramQueue(input.below(UNRELIABLE_LIMIT + 1)));
    sessions.add(session);
    return session;
  }

  private void progressed(Session session) {
    if (input.oneIn(4)) {
      return;
    }
    for (ByteBuf data; (data = session.kcp().receive()) != null; data.release()) {
      Check.that(data.refCnt() == 1, "of several owners");
    }
    for (ByteBuf data; (data = session.receiveUnreliable()) != null; data.release()) {
      Check.that(data.readableBytes() <= MTU, "an unreliable datagram too large");
    }
    if (input.oneIn(4)) {
      write(session);
    }
  }

  private static final class CheckedOutput implements DatagramOutput {
    private int limit;

    @Override
    public ByteBuf begin(int maxBytes) {
      limit = maxBytes;
      return OUT.setIndex(0, 0);
    }

    @Override
    public void end() {
      Check.that(OUT.writerIndex() <= limit, "wrote more than it had asked for");
    }
  }
}
