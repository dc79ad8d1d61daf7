package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What adaptive FEC is for: 25 entities at 60 Hz, 10 ms each way with up to 1 ms of jitter.
 * Latencies are compared with their median, and bytes, headers of UDP and IPv4 included, with those
 * of the same session without FEC.
 */
class AdaptiveFecTest {

  private static final int SECONDS = 120;

  private static final Traffic GAME = Traffic.game(25);

  private static final LinkSettings LINK = LinkSettings.delay(10_000).withJitter(1_000);

  private static CellResult game(String variant, LinkSettings link) {
    return run(Workload.GAME, variant, link, 1, SECONDS, 1);
  }

  private static CellResult game(String variant, LinkSettings link, int fromSeconds) {
    return run(Workload.GAME, variant, link, fromSeconds, SECONDS, 1);
  }

  private static CellResult run(
      Workload workload, String variant, LinkSettings link, int from, int seconds, long seed) {
    Variant settings = Variant.named(variant);
    return CellRun.run(new Cell(workload, settings, GAME, link, from, seconds, seed));
  }

  private static void assertLatency(double share, double most, CellResult result) {
    double ratio = (double) result.quantileUs(share) / result.quantileUs(0.5);
    assertTrue(ratio <= most, () -> share + ": " + ratio + "\n" + CsvRow.of(result));
  }

  private static void assertBytes(double most, CellResult plain, CellResult protectedOne) {
    double ratio = bytes(protectedOne) / bytes(plain);
    assertTrue(ratio <= most, () -> "bytes: " + ratio + "\n" + CsvRow.of(protectedOne));
  }

  private static double bytes(CellResult result) {
    long datagrams = result.up().datagrams() + result.down().datagrams();
    return result.up().bytes() + result.down().bytes() + LabLink.HEADER_BYTES * datagrams;
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void aFewLossesDelayAlmostNothing(long seed) {
    LinkSettings link = LINK.withLoss(0.005, 0);
    CellResult adaptive = run(Workload.GAME, "adaptive", link, 1, SECONDS, seed);
    assertLatency(0.998, 1.15, adaptive);
    assertLatency(0.999, 1.3, adaptive);
    assertBytes(1.65, run(Workload.GAME, "default", link, 1, SECONDS, seed), adaptive);
  }

  @Tag("slow")
  @ParameterizedTest
  @ValueSource(longs = {1, 2})
  void manyLossesDelayLittle(long seed) {
    LinkSettings link = LINK.withLoss(0.05, 0);
    CellResult adaptive = run(Workload.GAME, "adaptive", link, 1, SECONDS, seed);
    assertLatency(0.99, 1.2, adaptive);
    assertBytes(1.75, run(Workload.GAME, "default", link, 1, SECONDS, seed), adaptive);
  }

  @Tag("slow")
  @Test
  void aThirdParityPacketHidesAlmostAllOfThem() {
    LinkSettings link = LINK.withLoss(0.05, 0);
    CellResult adaptive = game("adaptive-3", link);
    assertLatency(0.998, 1.2, adaptive);
    assertBytes(2.0, game("default", link), adaptive);
  }

  @Tag("slow")
  @Test
  void messagesAreProtectedAsStreamsAre() {
    LinkSettings link = LINK.withLoss(0.05, 0);
    CellResult adaptive = game("adaptive-messages", link);
    assertLatency(0.985, 1.2, adaptive); // One in a hundred is late, depending on the seed.
    assertBytes(1.75, game("messages", link), adaptive);
  }

  @Test
  void withoutLossThereIsAlmostNoOverheadAfterAMinute() {
    CellResult adaptive = game("adaptive", LINK, 62);
    assertEquals(0, adaptive.up().retransmitted() + adaptive.down().retransmitted());
    assertBytes(1.05, game("default", LINK, 62), adaptive);
  }

  @Test
  void parityFollowsAStepOfTheLossWithinFiveSeconds() {
    LinkSettings link = LINK.withLoss(0.005, 0).withStep(60_000_000, 0.05);
    assertLatency(0.99, 1.2, game("adaptive", link, 65));
  }

  @Test
  void parityComesWithTheFirstLosses() {
    LinkSettings link = LINK.withStep(70_000_000, 0.05);
    assertLatency(0.99, 1.2, game("adaptive", link, 75));
  }

  @Tag("slow")
  @Test
  void kcpGoRecoversJustTheSame() {
    for (double loss : new double[] {0.005, 0.05}) {
      LinkSettings link = LINK.withLoss(loss, 0);
      CellResult adaptive = run(Workload.ONE_WAY, "adaptive-to-kcp-go-10", link, 1, SECONDS, 1);
      assertLatency(loss < 0.01 ? 0.999 : 0.99, 1.2, adaptive);
      assertBytes(1.65, run(Workload.ONE_WAY, "to-kcp-go-10", link, 1, SECONDS, 1), adaptive);
    }
  }

  @Tag("slow")
  @Test
  void delayedCopiesArriveAfterMostBursts() {
    LinkSettings link = LINK.withLoss(0.01, 2_000);
    CellResult copies = game("copy-5", link);
    assertLatency(0.99, 1.35, copies);
    CellResult plain = game("default", link);
    assertTrue(plain.quantileUs(0.99) > 2 * plain.quantileUs(0.5), CsvRow.of(plain));
    assertBytes(2.8, plain, copies);
  }

  @Test
  void bulkDataIsNeitherSplitNorProtected() {
    LinkSettings link = LINK.withRate(20_000_000, 64_000).withLoss(0.001, 0);
    CellResult adaptive = run(Workload.BULK, "adaptive", link, 1, 30, 1);
    CellResult plain = run(Workload.BULK, "default", link, 1, 30, 1);
    assertEquals(plain.bulkMbps(), adaptive.bulkMbps(), plain.bulkMbps() * 0.02);
    assertTrue(adaptive.up().parity() < 100, CsvRow.of(adaptive));
  }
}
