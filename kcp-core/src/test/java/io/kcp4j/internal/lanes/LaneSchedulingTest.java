package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What segments hold, when they are pulled one by one. */
class LaneSchedulingTest {

  private static final int SEGMENT_BYTES = 1376;

  private final Kcp kcp =
      new Kcp(
          1,
          KcpConfig.builder().delivery(Delivery.LANES).build(),
          KcpContext.of(UnpooledByteBufAllocator.DEFAULT),
          0);
  private final Lanes lanes = new Lanes(kcp, LanesConfig.DEFAULT, false, 0);
  private final Frame frames = new Frame();

  /** How many bytes of payload each lane has sent. */
  private final Map<Integer, Integer> sent = new HashMap<>();

  LaneSchedulingTest() {
    lanes.open(1024, LanesConfig.MAX_BUDGET_BYTES);
  }

  private void send(int lane, int... sizes) {
    for (int bytes : sizes) {
      lanes
          .lane(lane)
          .send(
              new OutboundMessage(Unpooled.wrappedBuffer(new byte[bytes])) {
                @Override
                protected void sent() {}

                @Override
                protected void dropped(Drop reason) {
                  if (reason != Drop.LANE_CLOSED) {
                    throw new AssertionError(reason);
                  }
                }
              });
    }
  }

  private void config(int lane, int priority, int weight) {
    lanes.lane(lane).config(new LaneConfig(LaneKind.RELIABLE_ORDERED, priority, weight));
  }

  private ByteBuf pullBytes(int enough) {
    ByteBuffer payload = ByteBuffer.allocate(SEGMENT_BYTES);
    lanes.sender().pull(payload, enough);
    lanes.sender().onSent(1);
    return Unpooled.wrappedBuffer(payload.flip());
  }

  /** Pulls a segment: the lane and the payload of each frame, as {@code lane:bytes}. */
  private List<String> pull() {
    return pull(SEGMENT_BYTES);
  }

  private List<String> pull(int enough) {
    ByteBuf segment = pullBytes(enough);
    List<String> found = new ArrayList<>();
    frames.reset(segment, 0, segment.readableBytes());
    while (frames.next()) {
      found.add(frames.lane() + ":" + frames.length());
      sent.merge(frames.lane(), frames.length(), Integer::sum);
    }
    assertFalse(frames.isMalformed());
    return found;
  }

  @Test
  void messagesOfManyLanesShareASegmentUntilOneDoesNotFit() {
    send(1, 600);
    send(2, 600);
    send(3, 200);
    send(4, 100);
    assertEquals(List.of("1:600", "2:600"), pull());
    assertEquals(List.of("3:200", "4:100"), pull());
    assertFalse(lanes.sender().isReady());
    assertTrue(lanes.sender().isEmpty());
  }

  @Test
  void lowerPriorityWaitsUntilNothingElseIsThere() {
    config(1, 5, 16);
    config(2, 4, 1);
    send(1, 900, 900);
    send(2, 900, 900);
    assertEquals(List.of("2:900", "2:465"), pull());
    assertEquals(List.of("2:435", "1:900"), pull());
  }

  @Test
  void messageOfAHigherPriorityIsInTheNextSegmentThoughALargerOneHasBegun() {
    send(1, 100_000);
    pull();
    config(2, 0, 16);
    send(2, 50);
    List<String> next = pull();
    assertEquals("2:50", next.get(0));
    assertEquals(2, next.size(), "the rest is filled");
    assertEquals(SEGMENT_BYTES, pullBytes(SEGMENT_BYTES).readableBytes());
  }

  @Test
  void lanesShareByWeight() {
    config(1, 3, 16);
    config(2, 3, 32);
    config(3, 3, 48);
    for (int lane = 1; lane <= 3; lane++) {
      send(lane, 100_000, 100_000, 100_000);
    }
    for (int i = 0; i < 120; i++) {
      pull();
    }
    int unit = sent.get(1);
    assertEquals(2.0, (double) sent.get(2) / unit, 0.1);
    assertEquals(3.0, (double) sent.get(3) / unit, 0.1);
  }

  @Test
  void lanesOfOneWeightTakeTurns() {
    for (int lane = 0; lane < 10; lane++) {
      send(lane, 300, 300);
    }
    List<String> order = new ArrayList<>();
    while (lanes.sender().isReady()) {
      order.addAll(pull());
    }
    List<String> lanesOnce = order.subList(0, 10).stream().sorted().distinct().toList();
    assertEquals(10, lanesOnce.size(), order.toString());
  }

  /** A lane that is never without a message gets no more than its share by being empty between. */
  @Test
  void laneThatEmptiesItsQueueEachTimeKeepsItsPlace() {
    config(1, 3, 16);
    config(2, 3, 64);
    send(2, 500_000);
    for (int i = 0; i < 300; i++) {
      if (lanes.lane(1).queuedBytes() == 0) {
        send(1, 1_000);
      }
      pull();
    }
    assertEquals(4.0, (double) sent.get(2) / sent.get(1), 0.3);
  }

  @Test
  void bulkDataFillsSegments() {
    send(1, 10_000, 10_000, 700, 20_000);
    for (int i = 0; i < 29; i++) {
      ByteBuf segment = pullBytes(SEGMENT_BYTES);
      assertEquals(SEGMENT_BYTES, segment.readableBytes(), "segment " + i);
    }
  }

  @Test
  void segmentsEndWhenEnoughIsInThem() {
    for (int i = 0; i < 50; i++) {
      send(i, 50);
    }
    int bytes = lanes.sender().readyBytes(100_000);
    int enough = (bytes + 3) / 4;
    int segments = 0;
    for (; lanes.sender().isReady(); segments++) {
      int size = pullBytes(enough).readableBytes();
      assertTrue(size < enough + 60, "size " + size);
    }
    assertEquals(4, segments);
    assertEquals(0, lanes.sender().readyBytes(100_000));
  }

  @Test
  void fragmentsEndWhenEnoughIsInThem() {
    send(1, 3_000);
    int bytes = lanes.sender().readyBytes(100_000);
    int enough = (bytes + 3) / 4;
    int segments = 0;
    for (; lanes.sender().isReady(); segments++) {
      int size = pullBytes(enough).readableBytes();
      assertTrue(size <= enough + 4, "size " + size);
    }
    assertEquals(4, segments);
  }

  @Test
  void readyBytesIsAboutWhatSegmentsTake() {
    int[] sizes = {0, 1, 127, 128, 1000, 1024, 1370, 1500, 5_000, 70_000};
    for (int lane : new int[] {0, 127, 128, 1000}) {
      for (int bytes : sizes) {
        send(lane, bytes);
        int ready = lanes.sender().readyBytes(1 << 20);
        int pulled = 0;
        while (lanes.sender().isReady()) {
          pulled += pullBytes(SEGMENT_BYTES).readableBytes();
        }
        assertTrue(
            pulled <= ready + 3 && ready <= 1.05 * pulled + 32,
            bytes + " bytes took " + pulled + " of " + ready);
        assertEquals(0, lanes.sender().readyBytes(1 << 20));
      }
    }
  }

  @Test
  void changedPriorityHoldsForWhatWaits() {
    send(1, 900);
    send(2, 900);
    config(2, 0, 16);
    assertEquals("2:900", pull().get(0));
  }

  /** The first message may be missing for as long as the others: numbers count from there. */
  @Test
  void numbersHaveTheBytesThatTheyNeedWhileNothingIsRead() {
    send(1, new int[40_000]);
    int number = 0;
    while (lanes.sender().isReady()) {
      ByteBuf segment = pullBytes(SEGMENT_BYTES);
      frames.reset(segment, 0, segment.readableBytes());
      while (frames.next()) {
        assertEquals(number++, frames.number(0));
      }
    }
    assertEquals(40_000, number);
  }

  private static int lane(String frame) {
    return Integer.parseInt(frame.substring(0, frame.indexOf(':')));
  }

  private int pullFull(int most) {
    ByteBuffer payloads = ByteBuffer.allocate(most * SEGMENT_BYTES);
    int segments = lanes.sender().pullFull(payloads, SEGMENT_BYTES, 0, most);
    lanes.sender().onSent(segments);
    return segments;
  }

  @Test
  void fullSegmentsArePulledTogetherOnlyWhileNothingElseIsToBeSent() {
    send(9, 10);
    pull();
    send(3, 100_000);
    assertEquals(0, pullFull(4), "the message has not been begun");
    pull();
    assertEquals(4, pullFull(4));
    lanes.lane(9).shutdownOutput();
    assertEquals(0, pullFull(4), "the end of lane 9 is due");
    assertEquals(List.of(9, 3), pull().stream().map(LaneSchedulingTest::lane).toList());
    assertEquals(2, pullFull(2));
    send(5, 100_000);
    assertEquals(0, pullFull(4), "two lanes take turns");
    assertEquals(List.of(5), pull().stream().map(LaneSchedulingTest::lane).toList());
    assertEquals(0, pullFull(4));
    lanes.lane(5).abortOutput();
    pull();
    assertEquals(64, pullFull(1_000), "all but the end");
    assertEquals(0, pullFull(1_000));
    assertTrue(pullBytes(SEGMENT_BYTES).readableBytes() < SEGMENT_BYTES);
    assertFalse(lanes.sender().isReady());
  }
}
