package io.kcp4j.internal.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.DiscardingOutput;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which messages of an unreliable lane are taken, by their numbers. */
class UnreliableLanesTest {

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final Kcp kcp =
      new Kcp(1, KcpConfig.builder().delivery(Delivery.LANES).build(), context, 0);
  private final Lanes lanes = new Lanes(kcp, LanesConfig.DEFAULT, false, 0);

  UnreliableLanesTest() {
    lanes.open(1024, LanesConfig.DEFAULT.budgetBytes());
  }

  @AfterEach
  void close() {
    lanes.close();
    kcp.close();
  }

  /** Messages with these numbers arrive, one after the other; returns those that are taken. */
  private List<Integer> receive(int type, IntStream numbers) {
    List<Integer> taken = new ArrayList<>();
    numbers.forEach(
        number -> {
          ByteBuf value = Unpooled.buffer().writeShortLE(1);
          if (UnreliableLanes.isLong(type)) {
            value.writeIntLE(number);
          } else {
            value.writeShortLE(number);
          }
          lanes.receiveUnreliable(type, value, 0, value.readableBytes());
          for (ByteBuf message; (message = lanes.lane(1).receive()) != null; message.release()) {
            taken.add(number);
          }
        });
    return taken;
  }

  private List<Integer> receive(IntStream numbers) {
    return receive(UnreliableLanes.UNRELIABLE, numbers);
  }

  @Test
  void numbersOf32BitsFollowTheSameRules() {
    assertEquals(List.of(), receive(UnreliableLanes.UNRELIABLE_32, IntStream.rangeClosed(-40, -1)));
    assertNull(lanes.lane(1).inputKind());
    IntStream numbers = IntStream.of(3, 1, 1, 100_000, 99_969, 99_968, 3, 0x7fff_ffff, 99_999);
    assertEquals(
        List.of(3, 1, 100_000, 99_969, 0x7fff_ffff),
        receive(UnreliableLanes.UNRELIABLE_32, numbers));
  }

  @Test
  void baseMovesByLessThanHalfOfAllNumbers() {
    assertEquals(List.of(0), receive(UnreliableLanes.SEQUENCED_32, IntStream.of(0)));
    IntStream numbers = IntStream.of(0x8000_0001, 0x8000_0000, 0x8000_0001);
    assertEquals(List.of(0x8000_0000, 0x8000_0001), receive(UnreliableLanes.SEQUENCED_32, numbers));
  }

  private static List<Integer> range(int first, int end) {
    return IntStream.range(first, end).boxed().toList();
  }

  /** The newest message comes so far before the others that were sent before it. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 30, 31, 32, 33, 64, 65, 1_000})
  void upTo32MessagesBelowTheBaseAreTakenOnce(int ahead) {
    assertEquals(range(0, 40), receive(IntStream.range(0, 40)));
    int newest = 39 + ahead;
    assertEquals(List.of(newest), receive(IntStream.of(newest)));
    int oldest = Math.max(40, newest + 1 - Integer.SIZE);
    assertEquals(range(oldest, newest), receive(IntStream.range(0, newest)));
    assertEquals(List.of(), receive(IntStream.rangeClosed(0, newest)), "taken twice");
  }

  @Test
  void sequencedLaneTakesNothingOlderThanItsNewest() {
    IntStream numbers = IntStream.of(0, 1, 5, 4, 2, 6, 6, 5, 100, 99, 101);
    assertEquals(List.of(0, 1, 5, 6, 100, 101), receive(UnreliableLanes.SEQUENCED, numbers));
  }

  /** Numbers begin at 0: what seems to be lower is a replay, or of a peer that is not correct. */
  @Test
  void messageBelowTheBaseDoesNotBeginALane() {
    assertEquals(List.of(), receive(IntStream.rangeClosed(-40, -1)));
    assertNull(lanes.lane(1).inputKind());
    assertEquals(List.of(0), receive(IntStream.of(0)));
    assertEquals(List.of(), receive(IntStream.rangeClosed(-40, -1)));
  }

  @Test
  void messageOfBeforeTheEndOfAReliableLaneDoesNotBeginIt() {
    receiveReliable(Frame.ORDERED, 0);
    receiveReliable(Frame.ORDERED, 1);
    receiveReliable(Frame.FIN, 2);
    lanes.lane(1).receive().release();
    lanes.lane(1).receive().release();
    assertTrue(lanes.lane(1).takeInputEnd());
    kcp.flush(0, new DiscardingOutput());
    assertEquals(List.of(), receive(IntStream.rangeClosed(-30, 2)));
    assertNull(lanes.lane(1).inputKind());
    assertEquals(List.of(5), receive(IntStream.of(5)));
    assertEquals(List.of(3, 4), receive(IntStream.rangeClosed(-20, 4)));
  }

  /** A segment with an empty message, or the end, of lane 1. */
  private void receiveReliable(int type, int number) {
    int bytes = type == Frame.FIN ? 7 : 6;
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, 1, Segment.PUSH, 0, 128, 0, number, 0, bytes);
    datagram.writeByte(type == Frame.FIN ? type : type | Frame.HAS_LONG_NUMBER).writeByte(1);
    datagram.writeIntLE(number).writeZero(bytes - 6);
    kcp.input(datagram, 0);
  }

  @Test
  void nothingOlderThanAnEndIsTakenAfterIt() {
    assertEquals(List.of(0, 3), receive(IntStream.of(0, 3)));
    ByteBuf datagram = Unpooled.buffer();
    Segment.write(datagram, 1, Segment.PUSH, 0, 128, 0, 0, 0, 6);
    datagram.writeByte(Frame.UNRELIABLE_FIN).writeByte(1).writeIntLE(5);
    kcp.input(datagram, 0);
    assertTrue(lanes.lane(1).takeInputEnd());
    assertEquals(List.of(), receive(IntStream.rangeClosed(0, 6)), "the end was not answered");
    kcp.flush(0, new DiscardingOutput());
    assertEquals(List.of(6), receive(IntStream.rangeClosed(0, 6)));
  }
}
