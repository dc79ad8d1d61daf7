package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * How many messages are late on lanes: 50 entities, each on a lane of its own, 60 messages of 50
 * bytes a second each; 10 ms one way. A message is late that takes longer than 20 ms.
 */
class LaneLatencyTest {

  private static final int SECONDS = 20;

  /** The shares of few losses need many of them. */
  private static final int MANY_SECONDS = 300;

  private static final Traffic GAME = Traffic.game(50);

  private static final LinkSettings LINK = LinkSettings.delay(10_000).withJitter(1_000);

  private static final LaneConfig ORDERED = LaneConfig.of(LaneKind.RELIABLE_ORDERED);

  private static final LaneConfig UNORDERED = LaneConfig.of(LaneKind.RELIABLE_UNORDERED);

  private static LaneRun.Result game(
      LaneConfig lane, FecConfig fec, double loss, int seconds, long seed) {
    return LaneRun.run(
        new LaneRun.Settings(
            GAME,
            lane,
            false,
            Variant.turbo().build(),
            fec,
            LINK.withLoss(loss, 0),
            seconds,
            seed));
  }

  @Test
  void withoutLossNoMessageIsLate() {
    LaneRun.Result result = game(ORDERED, FecConfig.NONE, 0, SECONDS, 1);
    assertEquals(0, result.lateShare());
    assertEquals(0, result.retransmitted());
    assertTrue(result.latencies().maxUs() <= 11_000, result.toString());
  }

  @Test
  void fewMessagesAreLateBesideThoseThatWereLost() {
    assertFewAreLate(0.05, SECONDS, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(doubles = {0.005, 0.01, 0.05})
  void fewMessagesAreLateInMinutesWithSeveralSeeds(double loss) {
    assertFewAreLate(loss, MANY_SECONDS, 3);
  }

  private static void assertFewAreLate(double loss, int seconds, int seeds) {
    double ordered = 0;
    double unordered = 0;
    long streamBytes = 0;
    long orderedBytes = 0;
    long unorderedBytes = 0;
    for (long seed = 1; seed <= seeds; seed++) {
      LaneRun.Result stream = game(null, FecConfig.NONE, loss, seconds, seed);
      LaneRun.Result inOrder = game(ORDERED, FecConfig.NONE, loss, seconds, seed);
      LaneRun.Result anyOrder = game(UNORDERED, FecConfig.NONE, loss, seconds, seed);
      ordered += inOrder.lateShare() / seeds;
      unordered += anyOrder.lateShare() / seeds;
      streamBytes += stream.bytes();
      orderedBytes += inOrder.bytes();
      unorderedBytes += anyOrder.bytes();
      String results = "stream: " + stream + "\nordered: " + inOrder + "\nunordered: " + anyOrder;
      assertTrue(stream.lateShare() > inOrder.lateShare(), results);
    }
    // As many bytes, but for those that are retransmitted: not the same datagrams are lost.
    String bytes = streamBytes + ", ordered " + orderedBytes + ", unordered " + unorderedBytes;
    assertTrue(Math.max(orderedBytes, unorderedBytes) <= 1.001 * streamBytes, bytes);
    assertTrue(unordered <= 1.2 * loss, "unordered " + unordered);
    assertTrue(ordered <= 2.2 * loss, "ordered " + ordered);
  }

  @Test
  void adaptiveFecLeavesNextToNothingLate() {
    assertNextToNothingIsLate(SECONDS, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void adaptiveFecLeavesNextToNothingLateInMinutes(long seed) {
    assertNextToNothingIsLate(MANY_SECONDS, seed);
  }

  private static void assertNextToNothingIsLate(int seconds, long seed) {
    LaneRun.Result result = game(ORDERED, FecConfig.adaptive(), 0.01, seconds, seed);
    assertTrue(result.lateShare() <= 0.002, result.toString());
  }

  // Beside bulk data

  private static final int BYTES_PER_SECOND = 2_000_000;

  private static LaneRun.Result besideBulk(int messages, int seconds, long seed) {
    KcpConfig config = Variant.turbo().rateLimit(BYTES_PER_SECOND).build();
    return LaneRun.run(
        new LaneRun.Settings(
            new Traffic(messages, 50, 20),
            ORDERED,
            true,
            config,
            FecConfig.NONE,
            LINK,
            seconds,
            seed));
  }

  @Test
  void smallMessagesDoNotWaitForBulkData() {
    assertSmallMessagesDoNotWait(10, 1);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void smallMessagesDoNotWaitForBulkDataInAMinute(long seed) {
    assertSmallMessagesDoNotWait(60, seed);
  }

  private static void assertSmallMessagesDoNotWait(int seconds, long seed) {
    LaneRun.Result result = besideBulk(1, seconds, seed);
    assertTrue(result.latencies().quantileUs(0.5) <= 13_000, result.toString());
    assertTrue(result.latencies().quantileUs(0.99) <= 18_000, result.toString());
    double alone = besideBulk(0, seconds, seed).bulkBytesPerSecond();
    assertTrue(result.bulkBytesPerSecond() >= 0.95 * alone, result + ", alone " + alone);
    assertTrue(alone >= 0.93 * BYTES_PER_SECOND, "alone " + alone);
  }
}
