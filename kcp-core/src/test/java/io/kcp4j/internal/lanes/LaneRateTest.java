package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.DiscardingOutput;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How many lanes a peer may begin in a second: protocol.md 15.3.6. */
class LaneRateTest {

  private static final LanesConfig MANY =
      LanesConfig.builder().maxLanes(8_192).maxNewLanesPerSecond(1_000).build();

  private final LanePair pair = new LanePair(MANY, MANY).opened();

  private long refused(LanePair.Side side) {
    return side.kcp.counters().get(KcpCounter.LANE_BEGINS_REFUSED);
  }

  @Test
  void lanesBeyondTheLimitBeginLaterAndNothingIsLost() {
    for (int lane = 0; lane < 3_000; lane++) {
      pair.client.send(lane, "a");
    }
    pair.run(100);
    int atOnce = pair.server.received.size();
    assertTrue(atOnce >= 1_000 && atOnce < 1_500, atOnce + " at once");
    assertTrue(refused(pair.server) > 0);
    pair.run(10_000);
    assertEquals(3_000, pair.server.received.size());
    assertEquals(3_000, new HashSet<>(pair.server.received).size());
    for (int from = 0; from < 3_000; from += 1_000) {
      long gapUs = pair.server.receivedAtUs.get(from + 999) - pair.server.receivedAtUs.get(0);
      assertTrue(gapUs >= (from - 300) * 1_000L, from + " after " + gapUs + " us");
    }
    pair.assertNothingHeld();
  }

  @Test
  void lanesThatBothSidesUseAreNotLimited() {
    for (int lane = 0; lane < 900; lane++) {
      pair.client.send(lane, "a");
    }
    pair.run(100);
    for (int lane = 900; lane < 3_000; lane++) {
      pair.server.lanes.lane(lane);
      pair.server.queue(pair.server.lanes.lane(lane), LanePair.pattern(1), "b");
    }
    pair.server.flush();
    pair.run(2_500);
    int before = pair.server.received.size();
    for (int lane = 900; lane < 3_000; lane++) {
      pair.client.send(lane, "answer");
    }
    pair.run(100);
    assertEquals(2_100, pair.server.received.size() - before);
    for (int lane = 3_000; lane < 3_900; lane++) {
      pair.client.send(lane, "new");
    }
    pair.run(100);
    assertEquals(3_000, pair.server.received.size() - before, "answers take nothing from others");
    assertEquals(0, refused(pair.server));
    pair.assertNothingHeld();
  }

  /** One lane that begins and ends again and again is as costly as many. */
  @Test
  void lanesThatAreBegunAgainCount() {
    UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
    KcpContext context = new KcpContext(allocator, MemoryBudget.unlimited(), new KcpCounters());
    LanesConfig slow = LanesConfig.builder().maxNewLanesPerSecond(100).build();
    KcpConfig config = KcpConfig.builder().delivery(Delivery.LANES).build();
    for (int type : List.of(Frame.FIN, Frame.UNRELIABLE_FIN)) {
      Kcp kcp = new Kcp(7, config, context, 0);
      Lanes lanes = new Lanes(kcp, slow, false, 0);
      lanes.open(1_024, 4 << 20);
      int begun = 0;
      int[] ends = new int[1_024];
      int sn = 0;
      for (int i = 0; i < 20_000; i++) {
        sn += receiveEnd(kcp, sn, type, i % 1_024, ends[i % 1_024]) ? 1 : 0;
        for (Lane lane; (lane = lanes.nextNews()) != null; ) {
          if (lane.takeInputEnd()) {
            ends[lane.id()]++;
            begun++;
          }
        }
        kcp.flush(0, new DiscardingOutput());
      }
      assertEquals(100, begun);
      lanes.close();
      kcp.close();
    }
  }

  /** Returns whether the segment was taken. */
  private static boolean receiveEnd(Kcp kcp, int sn, int type, int lane, int number) {
    ByteBuf frames = Unpooled.buffer();
    frames.writeByte(type);
    frames.writeByte((lane & 127) | 128).writeByte(lane >>> 7).writeIntLE(number);
    if (type == Frame.FIN) {
      frames.writeByte(0);
    }
    int bytes = frames.readableBytes();
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, 7, Segment.PUSH, 0, 128, 0, sn, 0, bytes);
    kcp.input(datagram.writeBytes(frames), 0);
    return kcp.isReceivedBelow(sn + 1);
  }
}
