package io.kcp4j.lanes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.DiscardingOutput;
import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.Segment;
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
class UnreliableReceiverTest {

  private final KcpContext context = KcpContext.of(new UnpooledByteBufAllocator(true, true));
  private final Kcp kcp =
      new Kcp(1, KcpConfig.builder().delivery(Delivery.LANES).build(), context, 0);
  private final Lanes lanes = new Lanes(kcp, LanesConfig.DEFAULT, false);

  UnreliableReceiverTest() {
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
          ByteBuf value = Unpooled.buffer().writeShortLE(1).writeShortLE(number);
          lanes.receiveUnreliable(type, value, 0, value.readableBytes());
          for (ByteBuf message; (message = lanes.lane(1).receive()) != null; message.release()) {
            taken.add(number);
          }
        });
    return taken;
  }

  private List<Integer> receive(IntStream numbers) {
    return receive(LaneItem.UNRELIABLE, numbers);
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
    assertEquals(List.of(0, 1, 5, 6, 100, 101), receive(LaneItem.SEQUENCED, numbers));
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
