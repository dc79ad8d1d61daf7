package io.kcp4j.sim;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * One socket of {@link SimulatedEndpoints}: a {@link SessionTable}, its wheel, its timer and its
 * cipher.
 */
final class SimulatedEndpoint {

  private static final int MAX_DATAGRAM_BYTES = 1500;

  private static final int SWEEP_INTERVAL_MS = 1000;

  /** So long after its peer has ended a session, a side does so at the latest. */
  private static final int MAX_ANSWER_MS = 1000;

  /** A session that has nothing else to send may queue a segment, whatever the limit is. */
  private static final int MAX_QUEUED_BYTES = 2048;

  /** Where its packets go. */
  interface Wire {
    /** Sends a packet, given unsealed and sealed. */
    void send(InetSocketAddress from, InetSocketAddress to, byte[] plain, byte[] sealed);
  }

  /** Knows the conversations of the endpoint. */
  interface Owner {
    /** The conversation of a session that a peer begins, or null to refuse it. */
    SimulatedConversation accept(InetSocketAddress remote, int conv);

    /** A session has ended that was not closed here. */
    void ended(int conv, EndReason reason);

    /** A session that was closed here is no longer known. */
    void left(int conv);
  }

  private final InetSocketAddress address;
  private final VirtualTime time;
  private final SplittableRandom random;
  private final Wire wire;
  private final Owner owner;
  private final Consumer<String> trace;
  private final int maxSessions;
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final MemoryBudget budget;
  private final KcpContext context;
  private final TimerWheel wheel;
  private final TestDriver driver;
  private final SessionTable table;
  private final ResetTokens resetTokens;
  private final Map<Integer, SimulatedConversation> conversations = new HashMap<>();
  private final Map<Session, SimulatedConversation> bySession = new HashMap<>();
  private final Map<InetSocketAddress, Output> outputs = new HashMap<>();
  private final List<Output> unflushed = new ArrayList<>();
  private final List<Runnable> inbox = new ArrayList<>();
  private final ByteBuf datagram;
  private PacketCipher cipher;
  private long timerAtUs = Long.MAX_VALUE;
  private boolean sweeping;
  private long blockedUntilUs;

  SimulatedEndpoint(
      InetSocketAddress address,
      VirtualTime time,
      SplittableRandom random,
      Function<UnpooledByteBufAllocator, ByteBufAllocator> allocators,
      Wire wire,
      KeyRing keys,
      MemoryBudget budget,
      int maxSessions,
      Owner owner,
      Consumer<String> trace) {
    this.address = address;
    this.time = time;
    this.random = random;
    this.wire = wire;
    this.owner = owner;
    this.trace = trace;
    this.budget = budget;
    this.maxSessions = maxSessions;
    context = new KcpContext(allocators.apply(allocator), budget, new KcpCounters());
    wheel = new TimerWheel(time.nowUs());
    cipher = keys.newCipher();
    datagram =
        random.nextBoolean()
            ? Unpooled.buffer(4096)
            : Unpooled.wrappedBuffer(ByteBuffer.allocateDirect(4096));
    driver =
        TestDriver.builder(context)
            .cipher(cipher)
            .deadlines(wheel)
            .maxSessions(maxSessions)
            .maxDatagramBytes(MAX_DATAGRAM_BYTES)
            .nowUs(time.nowUs())
            .build();
    table = driver.table;
    driver.acceptor = this::accept;
    driver.onProgress = this::progressed;
    driver.onEnd = this::ended;
    driver.onClosed = session -> owner.left(session.conv());
    byte[] secret = new byte[ResetTokens.MIN_SECRET_BYTES];
    random.nextBytes(secret);
    resetTokens = new ResetTokens(secret);
    table.resetTokens(resetTokens);
    driver.output = to -> outputs.computeIfAbsent(to, Output::new);
    driver.onOutputFlush = this::flushOutput;
    driver.outputWritable = this::isOutputWritable;
    driver.onFlushRequest = this::requestFlush;
  }

  InetSocketAddress address() {
    return address;
  }

  SessionTable table() {
    return table;
  }

  ResetTokens resetTokens() {
    return resetTokens;
  }

  boolean hasRoom() {
    return table.size() < maxSessions;
  }

  KcpCounters counters() {
    return context.total();
  }

  /** Ends all sessions without a word, as when the process is killed. */
  void kill() {
    driver.onClosed = session -> {};
    for (SimulatedConversation conversation : conversations.values()) {
      if (!conversation.isClosed()) {
        conversation.closed();
        table.remove(conversation.session(), time.nowUs());
        conversation.session().close();
      }
    }
    table.close();
    unflushed.forEach(Output::drop);
    unflushed.clear();
    inbox.clear();
  }

  /** Changes the keys, perhaps while packets wait to be sealed. */
  void rekey(KeyRing keys) {
    cipher = keys.newCipher();
    table.cipher(cipher);
  }

  void received(InetSocketAddress from, byte[] bytes) {
    received(() -> takeIn(from, bytes));
  }

  /**
   * A packet arrives that no session may accept.
   *
   * @param countedAs the counter that must count it, once; no other may but {@link #wholeOf} that
   *     counter; null if none may
   */
  void receiveUnclaimed(InetSocketAddress from, byte[] bytes, KcpCounter countedAs) {
    receiveUnclaimed(from, bytes, () -> countedAs);
  }

  /**
   * The same.
   *
   * @param countedAs says at its arrival what must count it
   */
  void receiveUnclaimed(InetSocketAddress from, byte[] bytes, Supplier<KcpCounter> countedAs) {
    received(
        () -> {
          KcpCounters before = counters().copy();
          KcpCounter expected = countedAs.get();
          takeIn(from, bytes);
          checkCounted(before, expected);
        });
  }

  private void checkCounted(KcpCounters before, KcpCounter countedAs) {
    for (KcpCounter counter : KcpCounter.values()) {
      if (counter == answerTo(countedAs)) {
        continue;
      }
      long counted = counters().get(counter) - before.get(counter);
      Check.that(
          counted == (counter == countedAs || counter == wholeOf(countedAs) ? 1 : 0),
          () -> counter + " is " + counted + " for a packet that counts as " + countedAs);
    }
  }

  /** The counter of answers that packets may get which this one counts, or null. */
  private static KcpCounter answerTo(KcpCounter counter) {
    return counter == KcpCounter.CLOSED_SESSION ? KcpCounter.ENDED_OUT : null;
  }

  /** The counter of which this one counts a part, or null. */
  private static KcpCounter wholeOf(KcpCounter counter) {
    return counter == KcpCounter.NOT_KCP ? KcpCounter.UNKNOWN_SESSION : null;
  }

  private void received(Runnable takingIn) {
    inbox.add(takingIn);
    if (inbox.size() == 1) {
      time.after(0, this::turn);
    }
  }

  /** Begins a session, as a client does. */
  void open(InetSocketAddress remote, KcpConfig config, SimulatedConversation conversation) {
    Session session = session(remote, conversation.conv(), config, conversation, true);
    table.add(session, time.nowUs());
    write(session);
    arm();
  }

  private Session session(
      InetSocketAddress remote,
      int conv,
      KcpConfig config,
      SimulatedConversation conversation,
      boolean isClient) {
    Kcp kcp = new Kcp(conv, config, context, random.nextInt());
    kcp.timestampsAreRandom();
    Session session = driver.newSession(remote, kcp);
    bySession.put(session, conversation);
    conversation.attach(session, isClient, allocator, table);
    conversations.put(conv, conversation);
    startSweeping();
    return session;
  }

  /** Writes as much as there is room for. */
  private void write(Session session) {
    if (conversationOf(session).write()) {
      table.scheduleFlush(session);
    }
  }

  /** Ends a session from this side: in order, by an abort, or without a word. */
  void close(Session session) {
    SimulatedConversation conversation = conversationOf(session);
    conversation.closed();
    boolean stays = false;
    switch (random.nextInt(4)) {
      case 0 -> {
        table.remove(session, time.nowUs());
        session.close();
      }
      case 1 -> {
        conversation.aborted();
        stays = table.abort(session, random.nextInt(), time.nowUs());
      }
      default -> stays = table.closeGracefully(session, time.nowUs());
    }
    if (!stays) {
      owner.left(conversation.conv());
    }
    arm();
  }

  private void takeIn(InetSocketAddress from, byte[] bytes) {
    int offset = random.nextInt(8);
    datagram.setIndex(offset, offset);
    datagram.writeBytes(bytes);
    table.receive(from, datagram, time.nowUs());
    // Sessions copy what they keep.
    datagram.setZero(0, datagram.capacity());
  }

  private void turn() {
    inbox.forEach(Runnable::run);
    inbox.clear();
    table.endBatch(time.nowUs());
    checkFlushed();
    checkHeld();
    arm();
  }

  private void checkHeld() {
    long beyondBytes = (long) table.size() * MAX_QUEUED_BYTES;
    Check.that(
        budget.usedBytes() - beyondBytes <= budget.limitBytes(),
        () -> "holds " + budget.usedBytes() + " bytes of " + budget.limitBytes());
  }

  private void arm() {
    long deadlineUs = wheel.nextDeadline();
    if (deadlineUs < timerAtUs) {
      long atUs = Math.max(deadlineUs, time.nowUs());
      timerAtUs = atUs;
      time.at(atUs, () -> wake(atUs));
    }
  }

  private void wake(long atUs) {
    if (atUs == timerAtUs) {
      timerAtUs = Long.MAX_VALUE;
      wheel.advance(time.nowUs());
      Check.that(wheel.nextDeadline() > time.nowUs(), "the wheel stands still");
      arm();
    }
  }

  private void startSweeping() {
    if (!sweeping) {
      sweepAfter(SWEEP_INTERVAL_MS);
    }
  }

  private void sweepAfter(long delayMs) {
    sweeping = true;
    time.afterMs(delayMs, this::sweep);
  }

  private void sweep() {
    sweeping = false;
    boolean isPartial = table.sweep(time.nowUs());
    arm();
    if (table.size() > 0) {
      sweepAfter(isPartial ? 1 : SWEEP_INTERVAL_MS);
    }
  }

  // The table's driver

  private Session accept(InetSocketAddress remote, int conv) {
    SimulatedConversation conversation = owner.accept(remote, conv);
    return conversation == null
        ? null
        : session(remote, conv, conversation.config(), conversation, false);
  }

  private void progressed(Session session) {
    SimulatedConversation conversation = conversationOf(session);
    conversation.read();
    write(session);
    conversation.reportWhenDone();
    if (conversation.isEndedByPeer()) {
      time.afterMs(random.nextInt(MAX_ANSWER_MS), () -> closeToo(session));
    }
  }

  private void closeToo(Session session) {
    if (!conversationOf(session).isClosed()) {
      close(session);
    }
  }

  private void flushOutput() {
    unflushed.forEach(Output::flush);
    unflushed.clear();
  }

  /** At random times the socket takes nothing for some milliseconds. */
  private boolean isOutputWritable() {
    if (time.nowUs() >= blockedUntilUs && random.nextInt(100) == 0) {
      blockedUntilUs = time.nowUs() + (1 + random.nextInt(20)) * VirtualTime.US_PER_MS;
    }
    return time.nowUs() >= blockedUntilUs;
  }

  private void requestFlush() {
    time.at(Math.max(time.nowUs(), blockedUntilUs), this::flush);
  }

  private void flush() {
    table.flushPending(time.nowUs());
    checkFlushed();
    arm();
  }

  private void checkFlushed() {
    Check.that(
        unflushed.isEmpty() || time.nowUs() < blockedUntilUs,
        "datagrams were left behind unflushed");
  }

  private void ended(Session session, EndReason reason) {
    owner.ended(session.conv(), reason);
    conversationOf(session).closed();
  }

  private SimulatedConversation conversationOf(Session session) {
    return bySession.get(session);
  }

  /** Checks what must hold when every session is closed. */
  void finish() {
    Check.that(table.size() == 0, table.size() + " sessions left");
    Check.that(unflushed.isEmpty(), "datagrams were never flushed");
    table.close();
    Check.that(budget.usedBytes() == 0, "holds " + budget.usedBytes() + " bytes");
    long leaked = allocator.metric().usedDirectMemory() + allocator.metric().usedHeapMemory();
    Check.that(leaked == 0, "leaks " + leaked + " bytes");
  }

  private final class Output implements DatagramOutput {

    private final InetSocketAddress remote;
    private final ByteBuf buffer = Unpooled.buffer(4096);
    private final PacketBatch packets = new PacketBatch();
    private final List<byte[]> plain = new ArrayList<>();
    private int start;
    private int limit;

    Output(InetSocketAddress remote) {
      this.remote = remote;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      start = buffer.writerIndex();
      limit = start + maxBytes;
      return buffer.ensureWritable(maxBytes);
    }

    @Override
    public void end() {
      int end = buffer.writerIndex();
      Check.that(end <= limit, "wrote more than it had asked for");
      if (plain.isEmpty()) {
        unflushed.add(this);
        packets.reset(buffer);
      }
      packets.add(start, end);
      PlainPacket packet =
          new PlainPacket(
              ByteBufUtil.getBytes(
                  buffer, start + cipher.headroom(), end - start - overheadBytes(), true));
      plain.add(packet.bytes());
      checkSize(packet, end - start);
      if (trace != null) {
        String path = address.getPort() + " to " + remote.getPort();
        trace.accept(time.nowUs() + " " + path + " " + packet);
      }
    }

    private int overheadBytes() {
      return cipher.headroom() + cipher.tailroom();
    }

    private void checkSize(PlainPacket packet, int bytes) {
      SimulatedConversation conversation = conversations.get(packet.conv());
      Check.that(
          conversation == null || bytes <= conversation.maxPacketBytes(),
          () -> "a packet of " + bytes + " bytes: " + packet);
    }

    private void drop() {
      plain.clear();
      buffer.clear();
    }

    private void flush() {
      cipher.seal(packets);
      for (int i = 0; i < packets.size(); i++) {
        byte[] sealed =
            ByteBufUtil.getBytes(buffer, packets.start(i), packets.end(i) - packets.start(i), true);
        wire.send(address, remote, plain.get(i), sealed);
      }
      drop();
    }
  }
}
