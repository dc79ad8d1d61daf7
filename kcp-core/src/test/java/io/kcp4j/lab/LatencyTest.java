package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A cross-section of the lab's cells, for some seeds. */
class LatencyTest {

  private static final int SECONDS = 20;

  private static final Traffic GAME = Traffic.game(25);

  private static final long MEASURED = (SECONDS - 1) * 60L * GAME.messages();

  private static final int RTT_US = 20_000;

  private static final int JITTER_US = 1_000;

  private static final LinkSettings CLEAN = LinkSettings.delay(RTT_US / 2);

  private static final LinkSettings JITTERY = CLEAN.withJitter(JITTER_US);

  /** Standard deviations within which statistical results must be; the seeds are fixed. */
  private static final int TOLERANCE = 4;

  @ParameterizedTest
  @ValueSource(strings = {"default", "messages", "interval-40", "fec-3-2-mtu-500", "to-kcp-go-10"})
  void withoutLossAndJitterEveryRoundTripIsThatOfTheLinks(String variant) {
    CellResult result = game(variant, CLEAN, 1);
    assertEquals(MEASURED, result.latencies().count());
    assertEquals(RTT_US, result.quantileUs(0.5));
    assertEquals(RTT_US, result.latencies().maxUs());
    assertEquals(0, result.up().retransmitted());
    assertEquals(0, result.down().retransmitted());
    assertEquals(0, result.up().reordered());
    assertEquals(0, result.up().lost() + result.down().lost());
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void jitterAddsItsMeanEachWay(long seed) {
    CellResult result = game("default", JITTERY, seed);
    assertEquals(RTT_US + JITTER_US, (double) result.quantileUs(0.5), JITTER_US / 10);
    assertTrue(result.latencies().maxUs() <= RTT_US + 2 * JITTER_US, CsvRow.of(result));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void everyMessageArrivesAndTheLossIsThatOfTheLinks(long seed) {
    double loss = 0.05;
    CellResult result = game("default", JITTERY.withLoss(loss, 0), seed);
    assertEquals(MEASURED, result.latencies().count());
    long datagrams = result.up().datagrams() + result.down().datagrams();
    long lost = result.up().lost() + result.down().lost();
    double deviation = Math.sqrt(datagrams * loss * (1 - loss));
    assertEquals(datagrams * loss, (double) lost, TOLERANCE * deviation);
    assertTrue(result.up().retransmitted() > 0, CsvRow.of(result));
  }

  /** The losses of twenty seconds do not determine the tail; those of five minutes nearly do. */
  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void rareLossesCostLittleMoreThanARoundTrip(long seed) {
    CellResult result = fiveMinutes("default", 0.005, seed);
    assertTrue(result.quantileUs(0.998) <= 50_000, CsvRow.of(result));
    assertTrue(result.up().spurious() <= 0.01 * result.up().segments(), CsvRow.of(result));
  }

  @Test
  void frequentLossesAreFoundByTimeSoonerThanByCountOrByKcpGo() {
    assertTimeIsSooner(1);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {2, 3})
  void frequentLossesAreFoundByTimeSoonerWithOtherSeeds(long seed) {
    assertTimeIsSooner(seed);
  }

  private static void assertTimeIsSooner(long seed) {
    CellResult time = fiveMinutes("default", 0.05, seed);
    CellResult count = fiveMinutes("count", 0.05, seed);
    CellResult kcpGo = fiveMinutes("kcp-go-10", 0.05, seed);
    assertTrue(time.quantileUs(0.99) <= 55_000, CsvRow.of(time));
    for (double quantile : new double[] {0.5, 0.99, 0.998, 0.999}) {
      assertTrue(time.quantileUs(quantile) <= count.quantileUs(quantile), CsvRow.of(count));
      assertTrue(time.quantileUs(quantile) <= kcpGo.quantileUs(quantile), CsvRow.of(kcpGo));
    }
    assertTrue(time.up().bytes() <= 1.12 * count.up().bytes(), CsvRow.of(count));
    assertTrue(time.up().spurious() <= 0.01 * time.up().segments(), CsvRow.of(time));
  }

  /** Echoes wait behind gaps, so that those of many ticks leave at once. */
  @Test
  void acksOfWritesThatLeaveAtOnceCauseFewSpuriousRetransmissionsWhenTheyAreLost() {
    LinkSettings link = LinkSettings.delay(100_000).withLoss(0.1, 0);
    Variant variant = Variant.named("default");
    CellResult result =
        CellRun.run(new Cell(Workload.GAME, variant, Traffic.game(50), link, 1, 300, 1));
    for (CellResult.Direction way : List.of(result.up(), result.down())) {
      assertTrue(way.spurious() <= 0.01 * way.segments(), CsvRow.of(result));
    }
  }

  private static CellResult fiveMinutes(String variant, double loss, long seed) {
    LinkSettings lossy = JITTERY.withLoss(loss, 0);
    return CellRun.run(new Cell(Workload.GAME, Variant.named(variant), GAME, lossy, 1, 300, seed));
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(ints = {0, 2_000, 5_000})
  void reorderingAloneCausesFewRetransmissions(int jitterUs) {
    for (String variant : List.of("default", "peer-interval-40", "to-kcp-go-10")) {
      for (int megabits : new int[] {3, 30}) {
        CellResult result =
            CellRun.run(
                new Cell(
                    Workload.ONE_WAY,
                    Variant.named(variant),
                    Traffic.stream(megabits),
                    CLEAN.withJitter(jitterUs),
                    5,
                    SECONDS,
                    1));
        assertTrue(
            result.up().retransmitted() <= 0.001 * result.up().segments(), CsvRow.of(result));
      }
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void aCopyOfEachDatagramHidesMostLosses(long seed) {
    LinkSettings lossy = JITTERY.withLoss(0.05, 0);
    CellResult plain = game("default", lossy, seed);
    CellResult copied = game("fec-1-1", lossy, seed);
    assertTrue(
        copied.quantileUs(0.99) < plain.quantileUs(0.99),
        () -> CsvRow.of(plain) + "\n" + CsvRow.of(copied));
    assertTrue(copied.up().recovered() > 0, CsvRow.of(copied));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3})
  void kcpGoRecoversWhatFecProtects(long seed) {
    LinkSettings lossy = JITTERY.withLoss(0.05, 0);
    CellResult plain = run(Workload.ONE_WAY, "to-kcp-go-10", GAME, lossy, seed);
    CellResult fec = run(Workload.ONE_WAY, "fec-3-2-mtu-500-to-kcp-go-10", GAME, lossy, seed);
    assertEquals(MEASURED, fec.latencies().count());
    assertTrue(fec.up().recovered() > 0, CsvRow.of(fec));
    assertTrue(
        fec.quantileUs(0.99) < plain.quantileUs(0.99),
        () -> CsvRow.of(plain) + "\n" + CsvRow.of(fec));
  }

  /** What arrives before the first message is dropped, since it begins no session. */
  @ParameterizedTest
  @ValueSource(strings = {"default", "peer-interval-40", "to-kcp-go-10", "to-kcp-go-40"})
  void withoutLossEveryRetransmissionIsSpuriousAndArrivesAsADuplicate(String variant) {
    LinkSettings link = CLEAN.withJitter(5_000);
    CellResult result =
        CellRun.run(
            new Cell(
                Workload.ONE_WAY, Variant.named(variant), Traffic.stream(3), link, 0, SECONDS, 1));
    assertTrue(result.up().reordered() > 0, CsvRow.of(result));
    assertEquals(result.up().retransmitted(), result.up().spurious());
    long sentAgain = result.up().spurious() + result.up().copies();
    long early = sentAgain - result.up().duplicates();
    assertTrue(early >= 0 && early < 3, CsvRow.of(result));
  }

  @Test
  void bulkDataFillsALinkWhoseQueueHoldsTheWindow() {
    KcpConfig config = Variant.turbo().sendWindow(64).build();
    Variant variant = Variant.both("window-64", config, FecConfig.NONE);
    LinkSettings link = CLEAN.withRate(20_000_000, 64 * 1428);
    CellResult result = CellRun.run(new Cell(Workload.BULK, variant, GAME, link, 1, SECONDS, 1));
    assertEquals(20 * 1376 / 1428.0, result.bulkMbps(), 0.1);
    assertEquals(0, result.up().dropped());
  }

  @Test
  void bulkDataDelaysAGameByTheQueueThatItFills() {
    int queueBytes = 50_000;
    long queueUs = queueBytes * 8L / 20;
    LinkSettings link = CLEAN.withRate(20_000_000, queueBytes);
    CellResult result = run(Workload.SHARED, "default", GAME, link, 1);
    assertTrue(result.up().dropped() > 0, CsvRow.of(result));
    assertTrue(result.quantileUs(0.5) > RTT_US + queueUs / 2, CsvRow.of(result));
    assertEquals(0, result.up().lost());
  }

  @Test
  void whatIsMeasuredBeginsAfterAStepOfTheLoss() {
    LinkSettings link = JITTERY.withStep(SECONDS / 2 * 1_000_000L, 0.05);
    Variant variant = Variant.named("default");
    Cell whole = new Cell(Workload.GAME, variant, GAME, link, 1, SECONDS, 1);
    Cell after = new Cell(Workload.GAME, variant, GAME, link, SECONDS / 2, SECONDS, 1);
    CellResult.Direction wholeUp = CellRun.run(whole).up();
    CellResult.Direction afterUp = CellRun.run(after).up();
    assertEquals(wholeUp.lost(), afterUp.lost());
    assertTrue(afterUp.lost() > 0, afterUp.toString());
    assertEquals(wholeUp.segments() / 2.0, (double) afterUp.segments(), wholeUp.segments() / 10.0);
  }

  @Test
  void sameSeedGivesTheSameResult() {
    LinkSettings link = JITTERY.withLoss(0.02, 3_000);
    String first = CsvRow.of(game("fec-10-3", link, 7));
    assertEquals(first, CsvRow.of(game("fec-10-3", link, 7)));
    assertNotEquals(first, CsvRow.of(game("fec-10-3", link, 8)));
  }

  private static CellResult game(String variant, LinkSettings link, long seed) {
    return run(Workload.GAME, variant, GAME, link, seed);
  }

  private static CellResult run(
      Workload workload, String variant, Traffic traffic, LinkSettings link, long seed) {
    return CellRun.run(new Cell(workload, Variant.named(variant), traffic, link, 1, SECONDS, seed));
  }
}
