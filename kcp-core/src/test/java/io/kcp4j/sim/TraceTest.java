package io.kcp4j.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpMode;
import io.kcp4j.KcpStats;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

/**
 * Records the sender's srtt, RTO, congestion window and segments in flight under scripted faults,
 * as text: a change of behaviour is a change of these files. To write them again:
 *
 * <pre>mvn test -pl kcp-core -Dtest=TraceTest -Dkcp4j.traces=write</pre>
 */
class TraceTest {

  private static final Path FOLDER = Path.of("src", "test", "resources", "traces");

  private static final int MAX_LINES = 200;

  private static final KcpConfig RENO =
      KcpConfig.builder()
          .mode(KcpMode.FAST)
          .lossDetection(LossDetection.FAST_RETRANSMIT)
          .congestionControl(CongestionControl.RENO)
          .sendWindow(32)
          .receiveWindow(64)
          .mtuBytes(500)
          .ackNoDelay(true)
          .build();

  /** Without congestion control, and with the most aggressive preset. */
  private static final KcpConfig FAST3 =
      KcpConfig.builder()
          .mode(KcpMode.FAST3)
          .lossDetection(LossDetection.FAST_RETRANSMIT)
          .congestionControl(CongestionControl.NONE)
          .sendWindow(16)
          .mtuBytes(500)
          .ackNoDelay(true)
          .build();

  @Test
  void oneLostSegmentIsFastRetransmittedAndHalvesTheCongestionWindow() throws IOException {
    check("single-loss", RENO, 400, pair -> pair.a().link().scriptedLoss(firstSendingOf(150, 150)));
  }

  @Test
  void aBurstOfLossesIsRepairedWithinAFewRoundTrips() throws IOException {
    check("burst-loss", RENO, 400, pair -> pair.a().link().scriptedLoss(firstSendingOf(150, 159)));
  }

  @Test
  void aBlackoutOfThreeSecondsBacksOffAndRecovers() throws IOException {
    check("blackout", RENO, 100, TraceTest::blackout);
    check("blackout-fast3", FAST3, 100, TraceTest::blackout);
  }

  @Test
  void reorderingAloneCostsFewRetransmissions() throws IOException {
    check(
        "reordering",
        RENO,
        200,
        pair -> pair.a().link().profile(LinkProfile.reordering(20, 0.1, 15)));
  }

  @Test
  void aStepOfTheRoundTripTimeIsFollowed() throws IOException {
    check(
        "rtt-step",
        FAST3,
        150,
        pair -> pair.time().afterMs(200, () -> pair.a().link().profile(LinkProfile.clean(150))));
  }

  private static void blackout(SimulatedPair pair) {
    pair.time().afterMs(300, () -> pair.network().partition(3000));
  }

  /** The first time that a PUSH with one of these sequence numbers passes. */
  private static Predicate<byte[]> firstSendingOf(int fromSn, int toSn) {
    Set<Integer> lost = new HashSet<>();
    return bytes -> {
      ByteBuf datagram = Unpooled.wrappedBuffer(bytes);
      int sn = Segment.sn(datagram, 0);
      return Segment.cmd(datagram, 0) == Segment.PUSH && sn >= fromSn && sn <= toSn && lost.add(sn);
    };
  }

  private static void check(
      String name, KcpConfig config, int segments, Consumer<SimulatedPair> script)
      throws IOException {
    String trace = trace(config, segments, script);
    assertTrue(trace.lines().count() <= MAX_LINES, name + " is too long");
    Path file = FOLDER.resolve(name + ".txt");
    if ("write".equals(System.getProperty("kcp4j.traces"))) {
      Files.createDirectories(FOLDER);
      Files.writeString(file, trace);
    }
    assertEquals(Files.readString(file), trace, name);
  }

  private static String trace(KcpConfig config, int segments, Consumer<SimulatedPair> script) {
    SimulatedPair pair = new SimulatedPair(Scenario.scripted(config, 20, segments));
    script.accept(pair);
    StringBuilder trace =
        new StringBuilder("  time_ms  srtt_ms   rto_ms     cwnd in_flight  retrans\n");
    String[] last = {""};
    pair.run(
        () -> {
          String state = state(pair.a().kcp().stats());
          if (!state.equals(last[0])) {
            trace.append(String.format(Locale.ROOT, "%9d%s\n", pair.time().nowMs(), state));
            last[0] = state;
          }
        });
    return trace.toString();
  }

  private static String state(KcpStats stats) {
    int window = stats.congestionWindow();
    return String.format(
        Locale.ROOT,
        "%9d%9d%9s%10d%9d",
        stats.srttUs() / VirtualTime.US_PER_MS,
        stats.rtoUs() / VirtualTime.US_PER_MS,
        window == Integer.MAX_VALUE ? "-" : window,
        stats.inFlight(),
        stats.get(KcpCounter.RETRANSMITTED));
  }
}
