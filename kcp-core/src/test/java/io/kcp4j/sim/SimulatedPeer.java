package io.kcp4j.sim;

import static io.kcp4j.sim.VirtualTime.US_PER_MS;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpStats;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.arq.KcpStarts;
import io.kcp4j.internal.lanes.Lanes;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.kcp4j.sim.Scenario.Act;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * One machine of a {@link SimulatedPair}: a {@link Kcp}, its user, its clock and its timer. Every
 * event ends in a {@link #turn}, after which all that can be checked is checked.
 */
public final class SimulatedPeer {

  /** The bytes before the writer index of every output buffer, which must stay. */
  private static final long CANARY = 0x6b63_7034_6a21_5f5fL;

  private static final long LARGEST_BUFFER_BYTES = 64 * 1024;

  /** 56, in a ring that may have room for four times as many. */
  private static final int BYTES_BESIDE_SEGMENT = 4 * 56;

  private static final int MAX_RTO_US = 60_000_000;

  private static final int MAX_PROBE_WAIT_US = 120_000_000;

  /** How long after its last write a session probes the round-trip time. */
  private static final int RTT_PROBING_US = 5_000_000;

  private final String name;
  private final Scenario.Side side;
  private final VirtualTime time;
  private final SimulatedNetwork network;
  private final SplittableRandom random;
  private final Forger forger;
  private final double forgery;
  private final double earlyFlush;
  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final MemoryBudget budget;
  private final Kcp kcp;
  private final WireMonitor wire;
  private final PairUser user;

  /** Null unless the delivery is that. */
  private final Lanes lanes;

  private final Output output = new Output();
  private final List<byte[]> inbox = new ArrayList<>();
  private final ByteBuf datagram = Unpooled.buffer(4096);

  private SimulatedPeer peer;
  private SimulatedLink link;
  private Consumer<String> trace;

  private long clockOffsetUs;
  private long timerAtUs = Long.MAX_VALUE;
  private long pausedUntilUs;
  private int actsDone;
  private long disturbedUntilUs;

  private long datagramsTakenIn;
  private long ackDueAtUs = Long.MAX_VALUE;
  private long wakeUpsForNothing;
  private int largestQueue;
  private long allocationsFailed;
  private long failedAtUs = Long.MIN_VALUE / 2;

  SimulatedPeer(
      String name,
      Scenario scenario,
      Scenario.Side side,
      VirtualTime time,
      SimulatedNetwork network,
      SplittableRandom random) {
    this.name = name;
    this.side = side;
    this.time = time;
    this.network = network;
    this.random = random;
    forgery = scenario.forgery();
    earlyFlush = scenario.earlyFlush();
    forger = new Forger(scenario.conv(), random.split());
    clockOffsetUs = side.clockUs() - time.nowUs();
    budget = new MemoryBudget(side.budgetBytes());
    FailingAllocator failing =
        new FailingAllocator(
            allocator,
            side.allocationFailures(),
            scenario.seed() ^ name.hashCode(),
            network.faults());
    network.onHealed(failing::heal);
    KcpContext context = new KcpContext(failing, budget, new KcpCounters());
    kcp =
        KcpStarts.kcp(scenario.conv(), side.config(), context, side.tsOrigin(), scenario.firstSn());
    wire =
        new WireMonitor(
            scenario.conv(),
            scenario.firstSn(),
            side.tsOrigin(),
            kcp.stats().remoteWindow(),
            side.config(),
            network.faults());
    if (side.config().delivery() == Delivery.LANES) {
      lanes = new Lanes(kcp, LaneTraffic.drawConfig(random), false, 0);
      user = new LaneUser(lanes, wire, side, time, random.split(), allocator);
    } else {
      lanes = null;
      user = new SimulatedUser(kcp, wire, side, time, network.faults(), random.split());
    }
  }

  /** The session itself. */
  public Kcp kcp() {
    return kcp;
  }

  /** The link of the datagrams that it sends, for scripts. */
  public SimulatedLink link() {
    return link;
  }

  WireMonitor wire() {
    return wire;
  }

  void connect(SimulatedPeer peer, Consumer<byte[]> recorder) {
    this.peer = peer;
    user.connect(peer.user);
    if (lanes != null) {
      lanes.open(peer.lanes.config().maxLanes(), peer.lanes.config().budgetBytes());
    }
    disturbedUntilUs = user.quietAtUs();
    link =
        network.connect(
            side.link(),
            bytes -> {
              recorder.accept(bytes);
              peer.received(bytes);
            });
  }

  void trace(Consumer<String> trace) {
    this.trace = trace;
  }

  /** The time of this machine's clock, in microseconds. */
  public long clockUs() {
    return time.nowUs() + clockOffsetUs;
  }

  /** Whether so great a share of its new segments has been sent. */
  boolean hasSent(double share) {
    return wire.newSegments() >= share * side.segments() || user.isWritten();
  }

  /** The time at which the last of its acts is over. */
  long disturbedUntilUs() {
    return disturbedUntilUs;
  }

  private void received(byte[] bytes) {
    inbox.add(bytes);
    if (inbox.size() == 1) {
      // One batch with all that is received at this time.
      time.after(0, this::turn);
    }
  }

  /** Does what the driver of a session does when something has happened. */
  void turn() {
    if (time.nowUs() < pausedUntilUs) {
      return;
    }
    try {
      turn(clockUs());
    } catch (AssertionError e) {
      throw new AssertionError(name + ": " + e.getMessage(), e);
    }
    arm();
    act();
  }

  private void turn(long nowUs) {
    boolean tookIn = takeIn(nowUs);
    if (user.read() || tookIn) {
      kcp.afterInput(nowUs, output);
    }
    if (kcp.nextDeadline() <= nowUs) {
      flushAtDeadline(nowUs);
    }
    if (user.write()) {
      kcp.afterSend(nowUs, output);
    }
    if (random.nextDouble() < earlyFlush) {
      flushEarly(nowUs);
    }
    check(nowUs);
  }

  private void flushAtDeadline(long nowUs) {
    long before = wire.datagrams();
    kcp.flush(nowUs, output);
    if (wire.datagrams() == before) {
      wakeUpsForNothing++;
    }
  }

  private void arm() {
    wakeAt(user.nextTurnAtUs());
    if (kcp.nextDeadline() != Time.NO_DEADLINE) {
      wakeAt(kcp.nextDeadline() - clockOffsetUs);
    }
  }

  private void wakeAt(long atUs) {
    if (atUs < timerAtUs) {
      timerAtUs = atUs;
      time.at(atUs, () -> wake(atUs));
    }
  }

  private void wake(long atUs) {
    if (atUs == timerAtUs) {
      timerAtUs = Long.MAX_VALUE;
      turn();
    }
  }

  // What happens to the machine

  private void act() {
    List<Act> acts = side.acts();
    while (actsDone < acts.size() && wire.newSegments() > acts.get(actsDone).atSegment()) {
      perform(acts.get(actsDone++));
    }
  }

  private void perform(Act act) {
    int amount = act.amount();
    say(act::toString);
    switch (act.kind()) {
      case PARTITION -> {
        network.partition(amount);
        disturb(amount);
      }
      case PAUSE -> {
        network.faults().add(Fault.MACHINE_PAUSED);
        pausedUntilUs = Math.max(pausedUntilUs, time.nowUs() + amount * US_PER_MS);
        turnAfter(amount);
      }
      case CLOCK_JUMP -> {
        network.faults().add(Fault.CLOCK_JUMPED);
        clockOffsetUs += amount * US_PER_MS;
        turnAfter(0);
      }
      case STOP_READING -> {
        network.faults().add(Fault.READING_PAUSED);
        user.stopReading(time.nowUs() + amount * US_PER_MS);
        turnAfter(amount);
      }
      case MTU -> {
        network.faults().add(Fault.MTU_CHANGED);
        changeMtu(amount);
        turnAfter(0);
      }
    }
  }

  private void changeMtu(int bytes) {
    KcpConfig before = kcp.config();
    KcpStats stats = kcp.stats();
    try {
      kcp.reconfigure(before.toBuilder().mtuBytes(bytes).build());
      wire.reconfigure(kcp.config());
    } catch (OutOfMemoryError e) { // Queued segments could not be re-segmented.
      Check.that(
          kcp.config() == before
              && kcp.stats().queued() == stats.queued()
              && kcp.stats().inFlight() == stats.inFlight(),
          "has changed for all that");
    }
  }

  private void turnAfter(int ms) {
    time.afterMs(ms, this::turn);
    disturb(ms);
  }

  private void disturb(int forMs) {
    disturbedUntilUs = Math.max(disturbedUntilUs, time.nowUs() + forMs * US_PER_MS);
  }

  // Input

  private boolean takeIn(long nowUs) {
    boolean forged = forgery > 0 && random.nextDouble() < forgery;
    if (forged) {
      forge(nowUs);
    }
    boolean any = forged || !inbox.isEmpty();
    for (byte[] bytes : inbox) {
      takeIn(bytes, nowUs);
    }
    inbox.clear();
    return any;
  }

  private void takeIn(byte[] bytes, long nowUs) {
    fillDatagram(bytes);
    boolean whole = isWhole();
    long notNew = notNewPushes();
    InputResult result = kcp.input(datagram, nowUs);
    datagramsTakenIn++;
    Check.that(
        result == (whole ? InputResult.ACCEPTED : InputResult.MALFORMED),
        () -> whole + " is whole, but the result is " + result);
    if (whole) {
      int pushes = wire.takenIn(datagram, nowUs);
      if (pushes > notNewPushes() - notNew) {
        ackDueAtUs = Math.min(ackDueAtUs, nowUs + intervalUs());
      }
    }
    // Sessions copy what they keep.
    datagram.setZero(0, datagram.writerIndex());
  }

  private void fillDatagram(byte[] bytes) {
    int offset = random.nextInt(8);
    datagram.setIndex(offset, offset);
    datagram.writeBytes(bytes);
  }

  /** Whether truncation has left only whole segments, at least one. */
  private boolean isWhole() {
    int at = datagram.readerIndex();
    int segments = 0;
    while (datagram.writerIndex() - at >= Segment.HEADER_BYTES) {
      at += Segment.HEADER_BYTES + Segment.length(datagram, at);
      segments++;
    }
    return segments > 0 && at <= datagram.writerIndex();
  }

  /** PUSHes that were taken in and need no acknowledgement within the interval. */
  private long notNewPushes() {
    KcpCounters counters = kcp.counters();
    return counters.get(KcpCounter.DUPLICATES)
        + counters.get(KcpCounter.OUT_OF_WINDOW)
        + counters.get(KcpCounter.FRAGMENT_REFUSED)
        + counters.get(KcpCounter.OVER_BUDGET)
        + counters.get(KcpCounter.ALLOCATION_FAILED);
  }

  /** Whether the oldest segment leaves sooner: in an outage, for any datagram of the peer. */
  private boolean mayEndOutage(InputResult result, long beforeUs, long nowUs) {
    long deadlineUs = kcp.nextDeadline();
    return result == InputResult.ACCEPTED && deadlineUs >= nowUs && deadlineUs < beforeUs;
  }

  private void forge(long nowUs) {
    Fault kind = forger.drawKind(kcp.config().delivery());
    fillDatagram(new byte[0]);
    forger.forge(kind, datagram, wire, peer.wire, side.tsOrigin() + (int) (nowUs / US_PER_MS));
    network.faults().add(kind);
    say(() -> "forged " + kind + WireMonitor.describe(datagram, datagram.readerIndex()));
    KcpStats before = kcp.stats();
    long deadlineBefore = kcp.nextDeadline();
    InputResult result = kcp.input(datagram, nowUs);
    datagramsTakenIn++;
    if (kind == Fault.INVALID_TIMESTAMP && result == InputResult.REFLECTED) {
      return; // By chance it was a timestamp of the peer, which this side repeats in its own ACKs.
    }
    InputResult expected = Forger.expectedResult(kind);
    Check.that(
        expected == null ? result != InputResult.ACCEPTED : result == expected,
        () -> kind + " was " + result);
    KcpStats after = kcp.stats();
    Check.that(
        before.srttUs() == after.srttUs()
            && before.rttVarUs() == after.rttVarUs()
            && before.rtoUs() == after.rtoUs(),
        () -> kind + " changed the round-trip time");
    Check.that(before.remoteWindow() == after.remoteWindow(), () -> kind + " changed the window");
    if (kind == Fault.INVALID_TIMESTAMP) {
      // It does acknowledge a segment, one that was received.
      wire.takenInForgedAck(peer.wire.unaOut(), after.remoteWindow());
      return;
    }
    Check.that(
        before.inFlight() == after.inFlight()
            && before.queued() == after.queued()
            && before.usedMemoryBytes() == after.usedMemoryBytes()
            && before.congestionWindow() == after.congestionWindow()
            && (deadlineBefore == kcp.nextDeadline()
                || mayEndOutage(result, deadlineBefore, nowUs)),
        () -> kind + " changed " + before + " into " + after);
  }

  // Checks

  /** An extra flush finds no timeout; a second one finds nothing to send at all. */
  private void flushEarly(long nowUs) {
    KcpCounters counters = kcp.counters();
    long timedOut = counters.get(KcpCounter.TIMED_OUT);
    kcp.flush(nowUs, output);
    Check.that(
        counters.get(KcpCounter.TIMED_OUT) == timedOut,
        "the deadline had not come, and yet a segment had timed out");
    long fast = counters.get(KcpCounter.FAST_RETRANSMITTED);
    int sent = wire.newSegments();
    long acks = wire.acks();
    kcp.flush(nowUs, output);
    Check.that(counters.get(KcpCounter.TIMED_OUT) == timedOut, "timed out twice at the same time");
    Check.that(
        counters.get(KcpCounter.FAST_RETRANSMITTED) == fast,
        "a fast retransmit twice at the same time");
    Check.that(wire.acks() == acks, "acknowledged twice at the same time");
    // Fast retransmits may have opened the congestion window for segments that were to wait.
    Check.that(
        wire.newSegments() == sent || kcp.config().congestionControl() != CongestionControl.NONE,
        "a second flush found something new");
  }

  private void check(long nowUs) {
    Check.that(kcp.failure() == null, () -> "failed: " + kcp.failure());
    KcpStats stats = kcp.stats();
    Check.that(
        stats.inFlight() <= kcp.config().sendWindow(),
        () -> stats.inFlight() + " segments in flight");
    Check.that(
        stats.inFlight() == 0 || stats.inFlight() <= wire.newSegments(), "in flight, not sent");
    largestQueue = Math.max(largestQueue, stats.queued());
    Check.that(
        stats.usedMemoryBytes() == budget.usedBytes(), "held bytes differ from the budget's");
    Check.that(
        stats.usedMemoryBytes() <= maxHeldBytes(),
        () -> "holds " + stats.usedMemoryBytes() + " bytes");
    Check.that(stats.rtoUs() <= MAX_RTO_US && stats.rtoUs() > 0, () -> "rto " + stats.rtoUs());
    if (wire.lastAckAtUs() == nowUs) {
      ackDueAtUs = Long.MAX_VALUE;
    }
    long failed = kcp.counters().get(KcpCounter.ALLOCATION_FAILED);
    if (failed != allocationsFailed) { // Allocations are tried again after an interval.
      allocationsFailed = failed;
      failedAtUs = nowUs;
    }
    long deadline = kcp.nextDeadline();
    Check.that(
        deadline > nowUs, () -> "the next deadline has passed by " + (nowUs - deadline) + " us");
    Check.that(deadline <= ackDueAtUs, "an ACK is due before the next deadline");
    if (stats.inFlight() > 0) {
      Check.that(deadline <= nowUs + MAX_RTO_US, "no timeout for what is in flight");
    } else if (stats.queued() > 0) {
      Check.that(deadline <= nowUs + MAX_PROBE_WAIT_US, "nothing waits for the window to open");
    } else if (kcp.isDrained()
        && nowUs > Math.max(wire.lastPushInAtUs(), failedAtUs) + 2 * intervalUs()
        && nowUs > wire.lastNewOutAtUs() + RTT_PROBING_US) {
      // ACKs leave within an interval and, on a lossy path, once more within another.
      Check.that(deadline == Time.NO_DEADLINE, "a deadline while there is nothing to do");
    }
  }

  private long intervalUs() {
    return kcp.config().intervalMs() * US_PER_MS;
  }

  /**
   * Twice what both windows, the queue and one message may fill, and a few buffers that are not
   * full; and what stands beside the payload of segments that were cut for a tiny MTU.
   */
  private long maxHeldBytes() {
    KcpConfig config = kcp.config();
    long segments =
        (long) config.sendWindow()
            + config.sendQueue()
            + 2L * config.receiveWindow()
            + config.maxFragments();
    // Lanes count messages with less than what stands beside them, and one buffer grows ahead.
    long ofLanes = lanes == null ? 0 : 3L * lanes.config().budgetBytes();
    return 2 * segments * KcpConfig.MAX_MTU_BYTES
        + 4 * LARGEST_BUFFER_BYTES
        + (long) largestQueue * BYTES_BESIDE_SEGMENT
        + ofLanes;
  }

  /** Why it is not done, or null if it is: all written, acknowledged, read, and no timer left. */
  String unfinished() {
    KcpStats stats = kcp.stats();
    if (!user.isWritten()) {
      return "has sent " + wire.newSegments() + " of " + side.segments() + " segments; " + stats;
    }
    if (!kcp.isDrained()) {
      return "is not drained; " + stats;
    }
    if (!user.isReadByPeer()) {
      return "has sent " + user.bytesWritten() + " bytes, not all of which were read";
    }
    if (kcp.nextDeadline() != Time.NO_DEADLINE) {
      return "still has a deadline; " + stats;
    }
    return null;
  }

  /** Checks what must hold when both sides are done, closes the session, checks again. */
  void finish() {
    KcpStats stats = kcp.stats();
    Check.that(stats.inFlight() == 0 && stats.queued() == 0, "drained with " + stats);
    Check.that(
        stats.usedMemoryBytes() == 0,
        "holds " + stats.usedMemoryBytes() + " bytes when all is read");
    Check.that(actsDone == side.acts().size(), "not all acts were performed");
    checkCounters(stats.counters());
    checkWakeUps();
    if (lanes != null) {
      Check.that(kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED) == 0, "refused frames");
      lanes.close();
    }
    kcp.close();
    checkNothingHappensAnyMore();
    Check.that(budget.usedBytes() == 0, "holds " + budget.usedBytes() + " bytes when closed");
    long leaked = allocator.metric().usedDirectMemory() + allocator.metric().usedHeapMemory();
    Check.that(leaked == 0, "leaks " + leaked + " bytes");
  }

  private void checkNothingHappensAnyMore() {
    long datagrams = wire.datagrams();
    kcp.close();
    kcp.probe();
    kcp.flush(clockUs(), output);
    kcp.afterInput(clockUs(), output);
    kcp.afterSend(clockUs(), output);
    Check.that(wire.datagrams() == datagrams, "closed, but sent something");
    Check.that(kcp.receive() == null && !kcp.isReceivable(), "closed, but receivable");
    Check.that(!kcp.isSendable(), "closed, but sendable");
    if (lanes == null) {
      Check.that(!kcp.send(Unpooled.wrappedBuffer(new byte[1])), "closed, but took bytes");
    }
    Check.that(
        kcp.input(Unpooled.EMPTY_BUFFER, clockUs()) == InputResult.SESSION_ENDED,
        "closed, but took a datagram");
    Check.that(kcp.nextDeadline() == Time.NO_DEADLINE, "closed, but has a deadline");
  }

  private void checkCounters(KcpCounters counters) {
    checkCounter(counters, KcpCounter.DATAGRAMS_OUT, wire.datagrams());
    checkCounter(counters, KcpCounter.BYTES_OUT, wire.bytes());
    checkCounter(counters, KcpCounter.SEGMENTS_OUT, wire.segments());
    long copies = counters.get(KcpCounter.COPIES_OUT);
    long retransmitted = counters.get(KcpCounter.RETRANSMITTED);
    long least = wire.retransmitted() - copies;
    Check.that(
        retransmitted >= least && retransmitted <= least + wire.possiblyRetransmitted(),
        () -> "RETRANSMITTED is " + retransmitted + ", not " + least);
    checkCounter(counters, KcpCounter.DATAGRAMS_IN, datagramsTakenIn);
    checkCounter(counters, KcpCounter.PAYLOAD_BYTES_OUT, user.bytesWritten());
    checkCounter(counters, KcpCounter.PAYLOAD_BYTES_IN, user.bytesRead());
    long byReason =
        counters.get(KcpCounter.TIMED_OUT)
            + counters.get(KcpCounter.FAST_RETRANSMITTED)
            + counters.get(KcpCounter.EARLY_RETRANSMITTED)
            + counters.get(KcpCounter.TIME_THRESHOLD_RETRANSMITTED);
    checkCounter(counters, KcpCounter.RETRANSMITTED, byReason);
    if (forgery == 0) {
      checkCounter(counters, KcpCounter.INVALID_TIMESTAMP, 0);
    }
  }

  private void checkCounter(KcpCounters counters, KcpCounter counter, long expected) {
    Check.that(
        counters.get(counter) == expected,
        counter + " is " + counters.get(counter) + ", not " + expected);
  }

  private void checkWakeUps() {
    Check.that(
        wakeUpsForNothing <= 10 + (wire.datagrams() + datagramsTakenIn) / 2,
        wakeUpsForNothing + " wake-ups for nothing");
  }

  private void say(Supplier<String> what) {
    if (trace != null) {
      trace.accept(time.nowUs() + " " + name + " " + what.get());
    }
  }

  /** Puts each datagram on the link, in a buffer with something before and nothing behind it. */
  private final class Output implements DatagramOutput {

    private final ByteBuf buffer = Unpooled.buffer(4096);
    private int maxBytes;
    private int start;

    @Override
    public ByteBuf begin(int maxBytes) {
      Check.that(
          maxBytes > 0 && maxBytes <= 2048, () -> "begins a datagram of " + maxBytes + " bytes");
      this.maxBytes = maxBytes;
      buffer.clear();
      buffer.writeLong(CANARY);
      start = buffer.writerIndex() + random.nextInt(8);
      buffer.setIndex(start, start);
      return buffer;
    }

    @Override
    public void end() {
      Check.that(buffer.getLong(0) == CANARY, "wrote before the writer index");
      Check.that(buffer.readerIndex() == start, "moved the reader index");
      Check.that(buffer.writerIndex() <= start + maxBytes, "wrote more than it had asked for");
      say(() -> "sends" + WireMonitor.describe(buffer, start));
      wire.sent(buffer, start, clockUs());
      link.send(Arrays.copyOfRange(buffer.array(), start, buffer.writerIndex()));
    }
  }
}
