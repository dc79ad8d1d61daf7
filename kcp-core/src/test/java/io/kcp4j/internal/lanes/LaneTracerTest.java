package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.KcpTracer;
import io.kcp4j.lanes.LaneStats;
import io.kcp4j.lanes.LanesConfig;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a tracer is told of lanes, and their statistics. */
class LaneTracerTest {

  private static final LanesConfig SMALL =
      LanesConfig.builder().maxLanes(1).budgetBytes(1_024).build();

  private final LanePair pair = LanePair.open();
  private final Events sent = new Events();
  private final Events received = new Events();

  private static final class Events implements KcpTracer {

    final List<String> lines = new ArrayList<>();

    @Override
    public void laneMessageSent(long nowUs, int lane, int bytes) {
      lines.add(nowUs + " sent " + lane + ":" + bytes);
    }

    @Override
    public void laneMessageReceived(long nowUs, int lane, int bytes) {
      lines.add(nowUs + " received " + lane + ":" + bytes);
    }

    @Override
    public void laneBlocked(long nowUs, int lane) {
      lines.add(nowUs + " blocked " + lane);
    }

    @Override
    public void laneOutputEnded(long nowUs, int lane) {
      lines.add(nowUs + " output ended " + lane);
    }

    @Override
    public void laneInputEnded(long nowUs, int lane) {
      lines.add(nowUs + " input ended " + lane);
    }
  }

  @Test
  void messagesAndEndsOfLanesAreReported() {
    pair.client.kcp.tracer(sent);
    pair.server.kcp.tracer(received);
    pair.run(100);
    pair.client.send(7, "abc");
    pair.client.lanes.lane(7).shutdownOutput();
    pair.client.flush();
    pair.run(20);
    assertEquals(List.of("100000 sent 7:3", "100000 output ended 7"), sent.lines);
    assertEquals(List.of("110000 received 7:3", "110000 input ended 7"), received.lines);
  }

  @Test
  void laneThatWaitsForThePeerIsReportedAndInItsStatistics() {
    LanePair pair = new LanePair(SMALL, SMALL).opened();
    pair.client.kcp.tracer(sent);
    pair.server.isRead = lane -> false;
    for (int i = 0; i < 20; i++) {
      pair.client.send(0, "x");
    }
    pair.run(100);
    // 512 bytes of its own, and 256 of the pool, hold 11 messages of 65 bytes.
    assertEquals(1, sent.lines.stream().filter(line -> line.endsWith("blocked 0")).count());
    assertEquals(new LaneStats(11, 0, 9, 9, 11 * 65, 0), pair.client.lanes.lane(0).stats());
    assertEquals(new LaneStats(0, 11, 0, 0, 0, 11), pair.server.lanes.lane(0).stats());
    pair.server.resumeReading();
    pair.run(500);
    assertEquals(20, pair.client.lanes.lane(0).stats().messagesOut());
    assertEquals(0, pair.server.lanes.lane(0).stats().unreadMessages());
  }
}
