package io.kcp4j.examples;

import static io.kcp4j.examples.EndingCarrier.LANES;
import static io.kcp4j.examples.EndingCarrier.MESSAGE;
import static io.kcp4j.examples.EndingCarrier.SMUX;
import static io.kcp4j.examples.EndingCarrier.STREAM;
import static io.kcp4j.examples.EndingCarrier.TCP;
import static io.kcp4j.examples.EndingSetting.BAN;
import static io.kcp4j.examples.EndingSetting.FULL;
import static io.kcp4j.examples.EndingSetting.KEY;
import static io.kcp4j.examples.EndingSetting.RECIPE;
import static io.kcp4j.examples.EndingSetting.SECRET;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Ways in which a process, or its session, ends. Each measures the time until the application at
 * the other end is told, and checks that this application gets every byte that it should.
 */
enum EndingCell {
  CLOSE(STREAM),
  CLOSE_WITH_1_MB_PENDING(STREAM),
  CLOSE_TO_PAUSED_READER(MESSAGE),
  CLOSE_AT_5_PERCENT_LOSS(LANES),
  HALF_CLOSE(STREAM),
  EVENT_LOOP_GROUP_ENDS(SMUX),
  EXIT(LANES),
  SIGKILL_SENDING(STREAM, null, "the kernel ends the connection"),
  SIGKILL_IDLE(SMUX, RECIPE, "the kernel ends the connection"),
  SIGSTOP_5_S(LANES),
  SIGSTOP_UNTIL_ENDED(MESSAGE, RECIPE, "the other side closes the connection"),
  RESTART_WITH_SECRET(STREAM, SECRET, "the kernel ends the connection at the kill"),
  RESTART_WITH_KEY(LANES, KEY, "the kernel ends the connection at the kill"),
  BAN_OF_CLIENT(MESSAGE, BAN, "no counterpart: accepted and closed"),
  SERVER_IS_FULL(STREAM, FULL, "no counterpart: accepted and closed");

  private static final int PENDING_BYTES = 1_000_000;
  private static final int SMALL_BYTES = 64_000;
  private static final int PAUSE_MS = 3000;
  private static final int STOP_S = 5;
  private static final int LOSSY_SESSIONS = 11;
  private static final double LOSS = 0.05;

  /** What the guide says of killed peers, with its recipe if the session is idle. */
  private static final double KILLED_LIMIT_MS = 5000;

  private final EndingCarrier carrier;

  /** Of both processes, or null. */
  private final EndingSetting setting;

  private final String tcpNote;

  EndingCell(EndingCarrier carrier) {
    this(carrier, null, "");
  }

  EndingCell(EndingCarrier carrier, EndingSetting setting, String tcpNote) {
    this.carrier = carrier;
    this.setting = setting;
    this.tcpNote = tcpNote;
  }

  /** How TCP differs, or nothing. */
  String tcpNote() {
    return tcpNote;
  }

  /** Packets lost each way, from 0 to 1. */
  double loss() {
    return this == CLOSE_AT_5_PERCENT_LOSS ? LOSS : 0;
  }

  EndingCarrier carrier() {
    return carrier;
  }

  /** Measures with KCP. ICMP passes only if a cell needs it, and then without a delay. */
  EndingTime overKcp() throws IOException, InterruptedException {
    EndingPath path = this == SIGKILL_SENDING ? EndingPath.direct() : EndingPath.relayed(loss(), 1);
    return over(carrier, path);
  }

  EndingTime overTcp() throws IOException, InterruptedException {
    return over(TCP, EndingPath.link());
  }

  private EndingTime over(EndingCarrier carrier, EndingPath path)
      throws IOException, InterruptedException {
    Set<EndingSetting> settings = setting == null ? Set.of() : Set.of(setting);
    try (EndingPair pair = new EndingPair(carrier, path, settings)) {
      return measure(pair);
    }
  }

  /** The latest time with KCP. */
  double limitMs(double tcpMs, EndingTime time) {
    return switch (this) {
      case SIGKILL_SENDING, SIGKILL_IDLE, RESTART_WITH_SECRET, RESTART_WITH_KEY -> KILLED_LIMIT_MS;
      default -> tcpMs + 2 * EndingPath.RTT_MS + time.probeTimeoutMs();
    };
  }

  private EndingTime measure(EndingPair pair) throws IOException, InterruptedException {
    return switch (this) {
      case CLOSE -> close(pair);
      case CLOSE_WITH_1_MB_PENDING -> closePending(pair);
      case CLOSE_TO_PAUSED_READER -> closePaused(pair);
      case CLOSE_AT_5_PERCENT_LOSS -> closeLossy(pair);
      case HALF_CLOSE -> halfClose(pair);
      case EVENT_LOOP_GROUP_ENDS -> endGroup(pair);
      case EXIT -> exit(pair);
      case SIGKILL_SENDING -> killSending(pair);
      case SIGKILL_IDLE -> killIdle(pair);
      case SIGSTOP_5_S -> stop(pair);
      case SIGSTOP_UNTIL_ENDED -> stopUntilEnded(pair);
      case RESTART_WITH_SECRET, RESTART_WITH_KEY -> restart(pair);
      case BAN_OF_CLIENT -> ban(pair);
      case SERVER_IS_FULL -> full(pair);
    };
  }

  private static EndingTime close(EndingPair pair) {
    pair.connect(0);
    return toldOf(pair.client.run("close"), pair.server, 0);
  }

  private static EndingTime closePending(EndingPair pair) {
    pair.connect(0);
    pair.client.run("write " + PENDING_BYTES);
    return toldOf(pair.client.run("close"), pair.server, 0);
  }

  private static EndingTime closePaused(EndingPair pair) {
    pair.connect(0);
    pair.server.run("pause " + PAUSE_MS);
    pair.client.run("write " + PENDING_BYTES);
    return toldOf(pair.client.run("close"), pair.server, 0);
  }

  /** The median. */
  private static EndingTime closeLossy(EndingPair pair) {
    List<EndingTime> times = new ArrayList<>();
    for (int i = 0; i < LOSSY_SESSIONS; i++) {
      pair.connect(i);
      pair.client.run("write " + SMALL_BYTES);
      times.add(toldOf(pair.client.run("close"), pair.server, i));
    }
    times.sort(Comparator.comparingDouble(EndingTime::ms));
    return times.get(LOSSY_SESSIONS / 2);
  }

  /** The server answers, and closes, when the client has ended its output. */
  private static EndingTime halfClose(EndingPair pair) {
    pair.connect(0);
    pair.client.run("write " + SMALL_BYTES);
    EndingTime time = toldOf(pair.client.run("half-close"), pair.server, 0);
    pair.server.run("write " + SMALL_BYTES);
    toldOf(pair.server.run("close"), pair.client, 0);
    return time;
  }

  private static EndingTime endGroup(EndingPair pair) {
    pair.connect(0);
    long endedAtNs = pair.client.run("end-group").atNs();
    return EndingTime.between(endedAtNs, intact(pair.server.awaitEnd(0)));
  }

  private static EndingTime exit(EndingPair pair) {
    pair.connect(0);
    EndingEvent written = pair.client.run("write " + SMALL_BYTES);
    long endedAtNs = pair.client.run("exit").atNs();
    EndingEvent told = pair.server.awaitEnd(0);
    checkComplete(written.written(), told);
    return EndingTime.between(endedAtNs, told);
  }

  private static EndingTime killSending(EndingPair pair) throws InterruptedException {
    pair.connect(0);
    pair.startFlow(pair.client, pair.server);
    pair.startFlow(pair.server, pair.client);
    return EndingTime.between(pair.server.kill(), intact(pair.client.awaitEnd(0)));
  }

  private static EndingTime killIdle(EndingPair pair) throws InterruptedException {
    pair.connect(0);
    return EndingTime.between(pair.client.kill(), intact(pair.server.awaitEnd(0)));
  }

  /** The time until the client reads again; then both end their output. */
  private static EndingTime stop(EndingPair pair) throws IOException, InterruptedException {
    pair.connect(0);
    pair.startFlow(pair.client, pair.server);
    EndingEvent before = pair.startFlow(pair.server, pair.client);
    long stoppedAtNs = pair.server.signal("STOP");
    long endNs = stoppedAtNs + TimeUnit.SECONDS.toNanos(STOP_S);
    for (long leftNs; (leftNs = endNs - System.nanoTime()) > 0; ) {
      LockSupport.parkNanos(leftNs);
    }
    long resumedAtNs = pair.server.signal("CONT");
    EndingEvent read =
        pair.client.await(
            "data", event -> event.name().equals("read") && event.atNs() > resumedAtNs);
    for (EndingProcess side : List.of(pair.client, pair.server)) {
      side.run("end-flow");
    }
    toldOf(pair.client.run("half-close"), pair.server, 0);
    toldOf(pair.server.run("half-close"), pair.client, 0);
    return new EndingTime((read.atNs() - resumedAtNs) / 1e6, before.probeTimeoutMs());
  }

  private static EndingTime stopUntilEnded(EndingPair pair)
      throws IOException, InterruptedException {
    pair.connect(0);
    pair.startFlow(pair.client, pair.server);
    EndingEvent before = pair.startFlow(pair.server, pair.client);
    pair.client.signal("STOP");
    if (pair.isTcp()) {
      pair.server.run("close");
    } else {
      intact(pair.server.awaitEnd(0));
    }
    long resumedAtNs = pair.client.signal("CONT");
    EndingEvent told = intact(pair.client.awaitEnd(0));
    return new EndingTime((told.atNs() - resumedAtNs) / 1e6, before.probeTimeoutMs());
  }

  /** The time from when the new process listens; with TCP from the kill. */
  private static EndingTime restart(EndingPair pair) throws IOException, InterruptedException {
    pair.connect(0);
    pair.startFlow(pair.client, pair.server);
    long killedAtNs = pair.server.kill();
    if (pair.isTcp()) {
      return EndingTime.between(killedAtNs, intact(pair.client.awaitEnd(0)));
    }
    return EndingTime.between(pair.startServer(), intact(pair.client.awaitEnd(0)));
  }

  /** The second attempt, which has all classes. */
  private static EndingTime ban(EndingPair pair) {
    pair.client.run("connect");
    pair.client.awaitEnd(0);
    return EndingTime.between(pair.client.run("connect"), pair.client.awaitEnd(1));
  }

  private static EndingTime full(EndingPair pair) {
    pair.connect(0);
    return EndingTime.between(pair.client.run("connect"), pair.client.awaitEnd(1));
  }

  /** The time until a side is told of an end, which must come behind all that was written. */
  private static EndingTime toldOf(EndingEvent end, EndingProcess at, int session) {
    EndingEvent told = at.awaitEnd(session);
    checkComplete(end.written(), told);
    return EndingTime.between(end, told);
  }

  private static void checkComplete(long written, EndingEvent told) {
    intact(told);
    if (told.received() != written || told.name().startsWith("exception")) {
      throw new AssertionError("written: " + written + "; at the end: " + told);
    }
  }

  private static EndingEvent intact(EndingEvent told) {
    if (!told.isIntact()) {
      throw new AssertionError("other bytes than were written: " + told);
    }
    return told;
  }
}
