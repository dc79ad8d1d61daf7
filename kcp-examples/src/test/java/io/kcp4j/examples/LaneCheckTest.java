package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.command.CommandFailure;
import io.kcp4j.netty.LaneMessage;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class LaneCheckTest {

  private static final long SENT_AT_NS = 1_000_000;

  /** Of four messages, two are measured. */
  private static LaneCheck check(ShooterLane lane) {
    return new LaneCheck(lane, 4, 2);
  }

  private static void receive(LaneCheck check, ShooterLane lane, int... numbers)
      throws CommandFailure {
    for (int number : numbers) {
      receive(check, lane, number, content -> {});
    }
  }

  private static void receive(
      LaneCheck check, ShooterLane lane, int number, Consumer<ByteBuf> change)
      throws CommandFailure {
    LaneMessage message =
        ShooterMessage.of(UnpooledByteBufAllocator.DEFAULT, lane, number, SENT_AT_NS);
    assertEquals(lane.id(), message.lane());
    change.accept(message.content());
    try {
      check.receive(message.content(), SENT_AT_NS + 3_000_000);
    } finally {
      message.release();
    }
  }

  private static void assertFailure(
      String expected, LaneCheck check, ShooterLane lane, int number) {
    CommandFailure failure = assertThrows(CommandFailure.class, () -> receive(check, lane, number));
    assertEquals(expected, failure.getMessage());
  }

  @Test
  void orderedLaneIsCompleteWhenEverythingHasArrivedInOrder() throws CommandFailure {
    LaneCheck check = check(ShooterLane.EVENTS);
    receive(check, ShooterLane.EVENTS, 0, 1, 2);
    assertFalse(check.isComplete());
    receive(check, ShooterLane.EVENTS, 3);
    assertTrue(check.isComplete());
    assertEquals(2, check.measured());
    assertEquals(2, check.delays().size());
    assertEquals(3, check.delays().percentileMs(100));
  }

  @Test
  void gapInAnOrderedLaneIsAFailure() throws CommandFailure {
    LaneCheck check = check(ShooterLane.EVENTS);
    receive(check, ShooterLane.EVENTS, 0);
    assertFailure("events: message 2 after message 0", check, ShooterLane.EVENTS, 2);
  }

  @Test
  void unorderedLaneTakesAnyOrderAndNothingTwice() throws CommandFailure {
    LaneCheck check = check(ShooterLane.DAMAGE);
    receive(check, ShooterLane.DAMAGE, 3, 0, 2);
    assertFailure("damage numbers: message 0 has arrived twice", check, ShooterLane.DAMAGE, 0);
    assertFalse(check.isComplete());
    receive(check, ShooterLane.DAMAGE, 1);
    assertTrue(check.isComplete());
  }

  @Test
  void sequencedLaneMayLoseMessagesAndTakesNoOlderOne() throws CommandFailure {
    LaneCheck check = check(ShooterLane.SNAPSHOTS);
    assertTrue(check.isComplete());
    receive(check, ShooterLane.SNAPSHOTS, 0, 2);
    assertFailure("snapshots: message 1 after message 2", check, ShooterLane.SNAPSHOTS, 1);
    assertEquals(1, check.delays().size());
  }

  @Test
  void alteredMessageIsAFailure() {
    LaneCheck check = check(ShooterLane.CHAT);
    for (Consumer<ByteBuf> change :
        List.<Consumer<ByteBuf>>of(
            content -> content.setByte(79, content.getByte(79) + 1),
            content -> content.writerIndex(79),
            content -> content.setInt(0, 1))) {
      CommandFailure failure =
          assertThrows(CommandFailure.class, () -> receive(check, ShooterLane.CHAT, 0, change));
      assertEquals("chat: a message was altered", failure.getMessage());
    }
  }

  @Test
  void messagesOfTicksAddUp() {
    for (ShooterLane lane : ShooterLane.values()) {
      int messages = 0;
      for (int tick = 0; tick < 100; tick++) {
        assertEquals(messages, lane.messagesBefore(tick), lane + " before tick " + tick);
        messages += lane.messagesIn(tick);
      }
    }
  }

  @Test
  void rowFitsItsHead() throws CommandFailure {
    LaneCheck check = check(ShooterLane.DAMAGE);
    receive(check, ShooterLane.DAMAGE, 2, 3);
    String row = ShooterTable.row(ShooterLane.DAMAGE, ShooterVariant.ONE_STREAM, check, 2.9);
    assertEquals(ShooterTable.head().length(), row.length());
    String figures = "damage numbers +in one stream +2 +2( +3\\.0){3} +100\\.0 %";
    assertTrue(row.matches(figures), row);
    assertTrue(
        ShooterTable.row(ShooterLane.DAMAGE, ShooterVariant.LANES, check, 3.1).endsWith(" 0.0 %"));
  }
}
