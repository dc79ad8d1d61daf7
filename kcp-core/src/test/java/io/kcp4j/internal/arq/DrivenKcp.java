package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * A {@link Kcp} in virtual time whose peer is the test: the test writes what the session receives,
 * segment by segment, and reads what it has sent.
 */
public final class DrivenKcp implements DatagramOutput {

  static final int CONV = 0x11223344;

  /** The timestamp at time 0; timestamps count milliseconds. */
  public static final int TS_ORIGIN = 1000;

  /** Without a leak detector: most tests do not close the session. */
  final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);

  public final MemoryBudget budget;
  public final Kcp kcp;
  public long nowUs;

  /** The fields of the peer's segments. */
  public int peerUna;

  public int peerWnd = 128;

  /** Into how many datagrams the output has flushes split. */
  public int splitInto;

  /** What the output was asked about splits: sn, bytes, bytes of a datagram, most datagrams. */
  final List<List<Integer>> splitQuestions = new ArrayList<>();

  private final List<ByteBuf> datagrams = new ArrayList<>();
  private ByteBuf current;

  /** The defaults with the loss detection of C KCP, and without congestion control. */
  public static KcpConfig.Builder counting() {
    return KcpConfig.builder()
        .lossDetection(LossDetection.FAST_RETRANSMIT)
        .congestionControl(CongestionControl.NONE);
  }

  public DrivenKcp(KcpConfig config) {
    this(config, MemoryBudget.unlimited(), TS_ORIGIN, 0);
  }

  public DrivenKcp(KcpConfig.Builder config) {
    this(config.build());
  }

  public DrivenKcp(KcpConfig config, MemoryBudget budget, int tsOrigin, int firstSn) {
    this.budget = budget;
    KcpContext context = new KcpContext(allocator, budget, new KcpCounters());
    kcp = new Kcp(CONV, config, context, tsOrigin, firstSn);
    peerUna = firstSn;
  }

  /** With an allocator of the test's own. */
  public DrivenKcp(KcpConfig config, ByteBufAllocator allocator, MemoryBudget budget) {
    this.budget = budget;
    kcp = new Kcp(CONV, config, new KcpContext(allocator, budget, new KcpCounters()), TS_ORIGIN);
  }

  @Override
  public int splitFlush(int sn, int bytes, int datagramBytes, int maxDatagrams) {
    splitQuestions.add(List.of(sn, bytes, datagramBytes, maxDatagrams));
    return splitInto;
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    current = Unpooled.buffer(maxBytes, maxBytes);
    return current;
  }

  @Override
  public void end() {
    datagrams.add(current);
    current = null;
  }

  // The peer's segments

  public ByteBuf segment(int cmd, int frg, int ts, int sn, ByteBuf payload) {
    ByteBuf out = Unpooled.buffer();
    int length = payload.readableBytes();
    Segment.write(out, CONV, cmd, frg, peerWnd, ts, sn, peerUna, length);
    return out.writeBytes(payload, payload.readerIndex(), length);
  }

  public ByteBuf push(int sn, ByteBuf payload) {
    return segment(Segment.PUSH, 0, 0, sn, payload);
  }

  public ByteBuf fragment(int sn, int frg, ByteBuf payload) {
    return segment(Segment.PUSH, frg, 0, sn, payload);
  }

  public ByteBuf ack(int sn, int ts) {
    return segment(Segment.ACK, 0, ts, sn, Unpooled.EMPTY_BUFFER);
  }

  public ByteBuf wask() {
    return segment(Segment.WASK, 0, 0, 0, Unpooled.EMPTY_BUFFER);
  }

  public ByteBuf wins() {
    return segment(Segment.WINS, 0, 0, 0, Unpooled.EMPTY_BUFFER);
  }

  /** Bytes whose values depend on their position. */
  public static ByteBuf bytes(int n) {
    ByteBuf buf = Unpooled.buffer(n, Math.max(n, 1));
    for (int i = 0; i < n; i++) {
      buf.writeByte(i * 7 + i / 256);
    }
    return buf;
  }

  // Calls of the session

  /** As if the peer had acknowledged something before: from then on, every segment times out. */
  DrivenKcp acknowledged() {
    kcp.sender.losses.endInput(nowUs);
    return this;
  }

  /** One datagram made of these segments, without the end of its batch. */
  public InputResult input(ByteBuf... segments) {
    return kcp.input(Unpooled.copiedBuffer(segments), nowUs);
  }

  /** A batch of one datagram, of which nothing is received. */
  public void receiveBatch(ByteBuf... segments) {
    assertEquals(InputResult.ACCEPTED, input(segments));
    kcp.afterInput(nowUs, this);
  }

  /** Sends this many segments full of payload, as one batch. */
  public void sendSegments(int n) {
    ByteBuf data = bytes(n * kcp.mssBytes());
    assertTrue(kcp.send(data));
    kcp.afterSend(nowUs, this);
  }

  /** Receives everything there is. */
  public ByteBuf receiveAll() {
    ByteBuf all = Unpooled.buffer();
    for (ByteBuf part; (part = kcp.receive()) != null; part.release()) {
      all.writeBytes(part);
    }
    return all;
  }

  /** Lets time pass, and flushes at every deadline. A deadline that stays in the past fails. */
  public void runTo(long untilUs) {
    while (kcp.nextDeadline() <= untilUs) {
      nowUs = Math.max(nowUs, kcp.nextDeadline());
      kcp.flush(nowUs, this);
      assertTrue(kcp.nextDeadline() > nowUs, "the deadline of " + nowUs + " stays");
    }
    nowUs = untilUs;
  }

  // The session's output

  /** The datagrams since the last call. */
  List<ByteBuf> sentDatagrams() {
    List<ByteBuf> sent = List.copyOf(datagrams);
    datagrams.clear();
    return sent;
  }

  /** The segments since the last call. */
  public List<SentSegment> sent() {
    return sentDatagrams().stream().flatMap(d -> SentSegment.in(d).stream()).toList();
  }

  /** The sequence numbers of the segments of one command since the last call. */
  public List<Integer> sentSns(int cmd) {
    return sent().stream().filter(s -> s.cmd() == cmd).map(SentSegment::sn).toList();
  }

  /** The commands since the last call. */
  List<Integer> sentCmds() {
    return sent().stream().map(SentSegment::cmd).toList();
  }

  public long count(KcpCounter counter) {
    return kcp.counters().get(counter);
  }

  public void assertNothingHeld() {
    assertEquals(0, kcp.stats().usedMemoryBytes(), "heldBytes");
    assertEquals(0, budget.usedBytes(), "budget");
    assertEquals(0, allocator.metric().usedDirectMemory(), "direct memory");
  }
}
