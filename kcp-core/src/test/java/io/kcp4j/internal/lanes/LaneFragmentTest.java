package io.kcp4j.internal.lanes;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.DiscardingOutput;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Fragments that arrive one behind the other, and what may come between them. */
class LaneFragmentTest {

  private static final int CONV = 7;
  private static final int LANE = 1;
  private static final int OTHER_LANE = 2;
  private static final int PART = 40;
  private static final int TOTAL = 5 * PART;

  private final KcpContext context = KcpContext.of(UnpooledByteBufAllocator.DEFAULT);
  private final Kcp kcp =
      new Kcp(CONV, KcpConfig.builder().delivery(Delivery.LANES).build(), context, 0);
  private final Lanes lanes = new Lanes(kcp, LanesConfig.builder().build(), false, 0);
  private int sn;

  LaneFragmentTest() {
    lanes.open(LanesConfig.MAX_LANES, LanesConfig.MAX_BUDGET_BYTES);
  }

  @AfterEach
  void close() {
    lanes.close();
    kcp.close();
    assertNull(kcp.failure());
  }

  private void receive(ByteBuf frames) {
    int bytes = frames.readableBytes();
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, CONV, Segment.PUSH, 0, 128, 0, sn++, 0, bytes);
    kcp.input(datagram.writeBytes(frames), 0);
  }

  /** The content of the messages on a lane. */
  private static ByteBuf content(int lane, int bytes) {
    ByteBuf content = Unpooled.buffer(bytes);
    for (int i = 0; i < bytes; i++) {
      content.writeByte(31 * lane + i);
    }
    return content;
  }

  /** A frame of the part of a message that begins at an offset, without its length. */
  private static ByteBuf fragment(int lane, int number, int offset, int bytes) {
    return header(0, lane, number, offset).writeBytes(content(lane, TOTAL), offset, bytes);
  }

  private static ByteBuf fragmentWithLength(int lane, int number, int offset, int bytes) {
    return header(Frame.HAS_LENGTH, lane, number, offset)
        .writeByte(bytes)
        .writeBytes(content(lane, TOTAL), offset, bytes);
  }

  private static ByteBuf header(int flags, int lane, int number, int offset) {
    ByteBuf out = Unpooled.buffer();
    out.writeByte(flags | Frame.ORDERED | Frame.HAS_BYTE_NUMBER | Frame.IS_FRAGMENT);
    return varInt(varInt(out.writeByte(lane).writeByte(number), TOTAL), offset);
  }

  private static ByteBuf varInt(ByteBuf out, int value) {
    return value < 0x80 ? out.writeByte(value) : out.writeByte(value | 0x80).writeByte(value >> 7);
  }

  private static ByteBuf fin(int number, int cutBytes) {
    ByteBuf out = Unpooled.buffer().writeByte(Frame.FIN).writeByte(LANE).writeIntLE(number);
    return varInt(out, cutBytes);
  }

  private void assertReceived(int lane) {
    ByteBuf message = lanes.lane(lane).receive();
    assertArrayEquals(content(lane, TOTAL).array(), ByteBufUtil.getBytes(message));
    message.release();
  }

  /** A message of which all but the last part has arrived, most of it in a run. */
  private void receiveRun(int lane, int number) {
    for (int offset = 0; offset < TOTAL - PART; offset += PART) {
      receive(fragment(lane, number, offset, PART));
    }
    assertFalse(lanes.lane(lane).isReadable());
  }

  private long refused() {
    return kcp.counters().get(KcpCounter.LANE_FRAMES_REFUSED);
  }

  @Test
  void lastFragmentCompletesTheMessage() {
    receiveRun(LANE, 0);
    receive(fragment(LANE, 0, TOTAL - PART, PART));
    assertReceived(LANE);
  }

  @Test
  void fragmentsOfTwoLanesAreNotMixed() {
    for (int offset = 0; offset < TOTAL; offset += PART) {
      receive(fragment(LANE, 0, offset, PART));
      receive(fragment(OTHER_LANE, 0, offset, PART));
    }
    assertReceived(LANE);
    assertReceived(OTHER_LANE);
  }

  @Test
  void fragmentThatComesAgainOrTooEarlyIsPutWhereItBelongs() {
    receiveRun(LANE, 0);
    receive(fragment(LANE, 0, TOTAL - PART / 2, PART / 2));
    receive(fragment(LANE, 0, TOTAL - PART, PART / 2));
    assertReceived(LANE);
  }

  @Test
  void frameBehindAFragmentIsRead() {
    receive(fragmentWithLength(LANE, 0, 0, PART));
    receive(fragmentWithLength(LANE, 0, PART, PART));
    ByteBuf other = fragment(OTHER_LANE, 0, 0, PART);
    receive(fragmentWithLength(LANE, 0, 2 * PART, PART).writeBytes(other));
    receive(fragment(LANE, 0, 3 * PART, 2 * PART));
    assertReceived(LANE);
    receive(fragment(OTHER_LANE, 0, PART, TOTAL - PART));
    assertReceived(OTHER_LANE);
  }

  @Test
  void fragmentThatIsLargerThanTheRestIsRefused() {
    receiveRun(LANE, 0);
    receive(fragment(LANE, 0, TOTAL - PART, PART).writeZero(PART));
    assertEquals(1, refused());
    receive(fragment(LANE, 0, TOTAL - PART, PART));
    assertReceived(LANE);
  }

  @Test
  void fragmentCompletesWhatWasSentOfACutMessage() {
    receiveRun(LANE, 0);
    receive(fin(1, TOTAL - PART / 2));
    assertFalse(lanes.lane(LANE).hasInput());
    receive(fragment(LANE, 0, TOTAL - PART, PART / 2));
    assertTrue(lanes.lane(LANE).takeInputEnd());
  }

  @Test
  void fragmentOfACutMessageIsRefusedWhenAnotherHasBegun() {
    receiveRun(LANE, 0);
    receive(fin(1, TOTAL - PART));
    assertTrue(lanes.lane(LANE).takeInputEnd());
    kcp.flush(0, new DiscardingOutput());
    receive(fragment(LANE, 2, 0, PART));
    assertEquals(0, refused());

    receive(fragment(LANE, 0, TOTAL - PART, PART / 2));

    assertEquals(1, refused());
    receive(fragment(LANE, 2, PART, TOTAL - PART));
    assertReceived(LANE);
  }

  @Test
  void fragmentOfAnEarlierMessageIsRefusedWhenAnotherHasItsPlace() throws Exception {
    FutureTask<Void> task = new FutureTask<>(this::receiveEarlierFragments, null);
    new FastThreadLocalThread(task).start();
    task.get(10, SECONDS);
  }

  /** This thread recycles the objects of messages, as event loops do. */
  private void receiveEarlierFragments() {
    receiveRun(LANE, 0);
    receive(fragment(LANE, 0, TOTAL - PART, PART));
    assertReceived(LANE);
    for (int number = 1; number <= 100; number++) {
      receive(fragment(LANE, number, 0, PART));
      receive(fragment(LANE, 0, PART, PART));
      assertEquals(number, refused());
      receive(fragment(LANE, number, PART, TOTAL - PART));
      assertReceived(LANE);
    }
  }
}
