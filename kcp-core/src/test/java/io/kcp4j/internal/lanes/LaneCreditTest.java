package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How much may be sent that is not read, and that an unread lane blocks no other. */
class LaneCreditTest {

  private static final int LANES = 16;

  /** 2,048 bytes for each lane, and 32 KiB to share. */
  private static final int BUDGET = 64 * 1024;

  private static final int LANE_BYTES = BUDGET / 2 / LANES;

  private static final LanesConfig CONFIG =
      LanesConfig.builder().maxLanes(LANES).budgetBytes(BUDGET).build();

  private final LanePair pair = new LanePair(CONFIG, CONFIG).opened();
  private final LanePair.Side client = pair.client;
  private final LanePair.Side server = pair.server;

  private void sendMuch(int lane, int bytesEach) {
    for (int bytes = 0; bytes < 4 * BUDGET; bytes += bytesEach) {
      client.queue(client.lanes.lane(lane), LanePair.pattern(bytesEach), "");
    }
    client.flush();
  }

  @Test
  void oneLaneHasItsPartAndHalfOfThePool() {
    server.isRead = lane -> false;
    sendMuch(1, 100);
    pair.run(2_000);
    int expected = LANE_BYTES + BUDGET / 4;
    assertEquals(expected / 164 * 164, client.lanes.lane(1).outstanding());
    int oneLane = PeerLanes.LANE_BYTES + Lanes.Table.PAGE_BYTES + 4;
    assertEquals(expected / 164 * 228L + oneLane, server.budget.usedBytes());
    server.resumeReading();
    pair.run(5_000);
    assertEquals(0, client.lanes.lane(1).queuedBytes());
    assertTrue(client.kcp.isDrained());
    pair.assertNothingHeld();
  }

  @Test
  void moreLanesShareThePoolAndNeverUseItUp() {
    server.isRead = lane -> false;
    for (int lane = 0; lane < LANES - 1; lane++) {
      sendMuch(lane, 100);
      pair.run(500);
    }
    int outstanding = 0;
    int least = Integer.MAX_VALUE;
    for (int lane = 0; lane < LANES - 1; lane++) {
      int ofLane = client.lanes.lane(lane).outstanding();
      outstanding += ofLane;
      least = Math.min(least, ofLane);
    }
    assertTrue(outstanding < BUDGET - LANE_BYTES, "outstanding " + outstanding);
    assertTrue(least > LANE_BYTES - 164, "least " + least);
    client.send(LANES - 1, "a");
    pair.run(100);
    server.isRead = lane -> lane.id() == LANES - 1;
    server.progressed();
    assertEquals(List.of("15:a"), server.received);
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  /** A lane that is read sends for ever, though all others are unread and the pool is in use. */
  @ParameterizedTest
  @ValueSource(ints = {0, 10, 100, 900})
  void unreadLanesNeverBlockOneThatIsRead(int bytes) {
    server.isRead = lane -> lane.id() == LANES - 1;
    for (int lane = 0; lane < LANES - 1; lane++) {
      sendMuch(lane, 100);
    }
    pair.run(1_000);
    for (int i = 0; i < 1_000; i++) {
      client.send(LANES - 1, bytes);
      pair.run(30);
      assertEquals(i + 1, server.received.size());
    }
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    server.resumeReading();
    pair.run(20_000);
    assertTrue(client.kcp.isDrained());
    pair.assertNothingHeld();
  }

  /** Of 375 lanes that wait for credit, those for which there is some are scheduled, no others. */
  @Test
  void creditForOneMessageWakesOneLane() {
    LanesConfig many = LanesConfig.builder().maxLanes(400).budgetBytes(1 << 20).build();
    LanePair pair = new LanePair(many, many).opened();
    int[] blocked = {0};
    pair.client.kcp.tracer(
        new KcpTracer() {
          @Override
          public void laneBlocked(long nowUs, int lane) {
            blocked[0]++;
          }
        });
    pair.server.isRead = lane -> false;
    for (int lane = 0; lane < 400; lane++) {
      pair.client.queue(lane, 20_000);
    }
    pair.client.flush();
    pair.run(2_000);
    List<String> begun = List.copyOf(pair.client.fates);
    assertEquals(begun.size(), 400 - blocked[0]);
    for (int lane = 0; lane < 3; lane++) {
      pair.server.read(pair.server.lanes.lane(lane));
      pair.server.flush();
      pair.run(100);
    }
    assertTrue(pair.client.fates.size() > begun.size(), "others have begun");
    assertEquals(400 - begun.size(), blocked[0]);
    pair.server.resumeReading();
    pair.run(20_000);
    assertEquals(400, pair.server.received.size());
  }

  /** The order in which lanes wait for credit is the order in which they get it. */
  @Test
  void lanesThatWaitForCreditGetItInTurn() {
    LanesConfig many = LanesConfig.builder().maxLanes(400).budgetBytes(1 << 20).build();
    LanePair pair = new LanePair(many, many).opened();
    for (int i = 0; i < 3; i++) {
      for (int lane = 0; lane < 400; lane++) {
        pair.client.queue(lane, 20_000);
      }
    }
    pair.client.flush();
    int[] received = new int[400];
    for (int i = 0; i < 2_000 && pair.server.received.size() < 1_200; i++) {
      pair.run(10);
      for (String message : pair.server.received) {
        received[Integer.parseInt(message.substring(0, message.indexOf(':')))]++;
      }
      int most = Arrays.stream(received).max().getAsInt();
      int least = Arrays.stream(received).min().getAsInt();
      assertTrue(most - least <= 2, most + " messages of one lane, and " + least + " of another");
      Arrays.fill(received, 0);
    }
    assertEquals(1_200, pair.server.received.size());
  }

  @Test
  void lanesThatWereUnreadContinueWhenTheyAreRead() {
    server.isRead = lane -> false;
    for (int lane = 0; lane < LANES; lane++) {
      sendMuch(lane, 1_000 + lane);
    }
    pair.run(1_000);
    for (int lane = 0; lane < LANES; lane++) {
      int read = lane;
      server.isRead = next -> next.id() <= read;
      server.progressed();
      server.flush();
      pair.run(5_000);
      assertEquals(0, client.lanes.lane(lane).queuedBytes(), "lane " + lane);
    }
    assertTrue(client.kcp.isDrained());
    pair.assertNothingHeld();
  }

  /** Messages of the largest size and of all others compete for a small budget. */
  @ParameterizedTest
  @EnumSource(names = {"RELIABLE_ORDERED", "RELIABLE_UNORDERED"})
  void messagesOfAllSizesOnAllLanesArriveInASmallBudget(LaneKind kind) {
    SplittableRandom random = new SplittableRandom(5);
    client.isLost = n -> random.nextInt(20) == 0;
    server.isLost = n -> random.nextInt(20) == 0;
    int sent = 0;
    for (int round = 0; round < 200; round++) {
      client.lane(round % LANES, kind);
      for (int i = random.nextInt(8); i >= 0; i--, sent++) {
        int most = random.nextBoolean() ? 8_128 : 300;
        client.send(round % LANES, random.nextInt(most + 1));
      }
      pair.run(random.nextInt(50));
    }
    pair.run(60_000);
    assertEquals(sent, server.received.size());
    assertTrue(client.kcp.isDrained());
    assertEquals(0, server.kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED));
    pair.assertNothingHeld();
  }

  @Test
  void whatIsReadAtOnceIsReportedSeldom() {
    long before = server.datagrams;
    for (int i = 0; i < 1_000; i++) {
      client.send(i % LANES, 50);
      pair.run(16);
    }
    long pushes = server.kcp.counters().get(KcpCounter.LANE_MESSAGES_OUT);
    assertEquals(0, pushes);
    long reports = server.kcp.stats().counters().get(KcpCounter.SEGMENTS_OUT);
    assertEquals(1_000, server.received.size());
    // 1,000 messages count 114 bytes each, and an eighth of the pool is 4 KiB.
    assertTrue(reports < 1_000 + 50, "segments " + reports);
    assertTrue(server.datagrams - before < 1_050, "datagrams " + (server.datagrams - before));
  }

  @Test
  void smallestBudgetLetsEveryLaneSend() {
    LanesConfig least = LanesConfig.builder().maxLanes(1).budgetBytes(512).build();
    LanePair small = new LanePair(least, least).opened();
    assertFalse(small.client.lanes.lane(0).maxMessageBytes() > 0);
    for (int i = 0; i < 100; i++) {
      small.client.send(0, "");
      small.run(30);
    }
    assertEquals(100, small.server.received.size());
  }
}
