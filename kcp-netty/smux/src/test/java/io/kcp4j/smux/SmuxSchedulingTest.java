package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which frame is next, and what it holds. */
class SmuxSchedulingTest {

  private static DrivenSmux versionOne() {
    return new DrivenSmux(DrivenSmux.config().version(1), true);
  }

  @Test
  void controlFramesPrecedeDataInTheirOrder() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream first = driven.open().write(10);
    TestStream second = driven.open().write(10);
    driven.receive(driven.psh(3, 5));
    assertEquals("SYN 3", driven.next());
    assertEquals("UPD 3 5 65536", driven.next());
    assertEquals("SYN 5", driven.next());
    assertEquals("PSH 3 10", driven.next());
    driven.receive(driven.psh(5, 5));
    assertEquals("UPD 5 5 65536", driven.next());
    first.stream.shutdownOutput();
    assertEquals("FIN 3", driven.next(), "nothing more to send on 3");
    second.stream.shutdownOutput();
    assertEquals("PSH 5 10", driven.next(), "data precedes the FIN of its stream");
    assertEquals(List.of("FIN 5"), driven.sent());
  }

  @Test
  void contentOfAFrameIsChosenWhenItIsTaken() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream bulk = driven.open();
    TestStream urgent = driven.open();
    urgent.stream.priority(0);
    bulk.write(100_000);
    driven.next();
    driven.next();
    assertEquals("PSH 3 8192", driven.next());
    urgent.write(50);
    assertEquals("PSH 5 50", driven.next());
    bulk.cancelWrites();
    bulk.write(7);
    assertEquals(List.of("PSH 3 7"), driven.sent());
  }

  @Test
  void sourceMayTurnOutToBeEmpty() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open().write(10);
    driven.next();
    assertTrue(driven.session.hasFrame());
    user.cancelWrites();
    assertEquals(List.of(), driven.sent());
    user.write(5);
    assertEquals(List.of("PSH 3 5"), driven.sent());
  }

  @Test
  void framesAreLargeOnlyWhileOneStreamIsOpen() throws SmuxException {
    DrivenSmux driven = versionOne();
    TestStream user = driven.open().write(40_000);
    assertEquals(List.of("SYN 3", "PSH 3 32768", "PSH 3 7232"), driven.sent());
    TestStream other = driven.open();
    user.write(10_000);
    assertEquals(List.of("SYN 5", "PSH 3 8192", "PSH 3 1808"), driven.sent());
    other.stream.close();
    user.write(40_000);
    assertEquals(List.of("FIN 5", "PSH 3 32768", "PSH 3 7232"), driven.sent());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 504, 505, 4088, 4089, 65_535})
  void framesHaveAtMostTheConfiguredSizeAndTheBytesOfTheSource(int maxFrameSize)
      throws SmuxException {
    DrivenSmux driven =
        new DrivenSmux(DrivenSmux.config().version(1).maxFrameSize(maxFrameSize), true);
    TestStream user = driven.open();
    int bytes = 2 * maxFrameSize + 1;
    user.write(bytes);
    driven.next();
    ByteBuf sent = Unpooled.buffer();
    for (int left = bytes; left > 0; ) {
      ByteBuf frame = driven.session.nextFrame(driven.allocator);
      int length = frame.getUnsignedShortLE(2);
      assertEquals(Math.min(left, maxFrameSize), length);
      assertEquals(8 + length, frame.readableBytes());
      sent.writeBytes(frame, 8, length);
      frame.release();
      left -= length;
    }
    for (int i = 0; i < bytes; i++) {
      assertEquals((byte) (i * 7 + i / 256), sent.getByte(i));
    }
    driven.assertNothingHeld();
  }

  @Test
  void streamsOfEqualWeightTakeTurnsOfSeveralFrames() throws SmuxException {
    DrivenSmux driven = versionOne();
    TestStream first = driven.open().write(8 * 8192);
    TestStream second = driven.open().write(8 * 8192);
    String order =
        driven.sent().stream()
            .filter(frame -> frame.startsWith("PSH"))
            .map(frame -> frame.replace("PSH ", "").replace(" 8192", ""))
            .collect(Collectors.joining());
    assertEquals("35" + "333555" + "33335555", order);
    assertEquals(0, first.unsent() + second.unsent());
  }

  @Test
  void aStreamThatBeginsToSendWaitsForNoTurn() throws SmuxException {
    DrivenSmux driven = versionOne();
    for (int i = 0; i < 10; i++) {
      driven.open().write(1_000_000);
    }
    TestStream late = driven.open();
    for (int i = 0; i < 100; i++) {
      driven.next();
    }
    late.write(50);
    assertEquals("PSH " + late.stream.id() + " 50", driven.next());
  }

  @Test
  void weightsDivideWhatIsSent() throws SmuxException {
    DrivenSmux driven = versionOne();
    TestStream light = driven.open().write(8_000_000);
    TestStream heavy = driven.open().write(8_000_000);
    heavy.stream.weight(48);
    assertEquals(48, heavy.stream.weight());
    for (int i = 0; i < 1000; i++) {
      driven.next();
    }
    int ofLight = 8_000_000 - light.unsent();
    int ofHeavy = 8_000_000 - heavy.unsent();
    assertEquals(3.0, (double) ofHeavy / ofLight, 0.15);
  }

  @Test
  void lowerPriorityNumberIsServedFirstWhateverTheWeights() throws SmuxException {
    DrivenSmux driven = versionOne();
    TestStream low = driven.open().write(10);
    TestStream high = driven.open().write(20_000);
    low.stream.weight(256);
    low.stream.priority(7);
    high.stream.priority(2);
    assertEquals(2, high.stream.priority());
    assertEquals(
        List.of("SYN 3", "SYN 5", "PSH 5 8192", "PSH 5 8192", "PSH 5 3616", "PSH 3 10"),
        driven.sent());
  }

  @Test
  void prioritiesAndWeightsOutOfRangeAreRefused() throws SmuxException {
    SmuxStream stream = DrivenSmux.client().open().stream;
    assertThrows(IllegalArgumentException.class, () -> stream.priority(-1));
    assertThrows(IllegalArgumentException.class, () -> stream.priority(8));
    assertThrows(IllegalArgumentException.class, () -> stream.weight(0));
    assertThrows(IllegalArgumentException.class, () -> stream.weight(257));
    assertEquals(SmuxStream.DEFAULT_PRIORITY, stream.priority());
    assertEquals(SmuxStream.DEFAULT_WEIGHT, stream.weight());
  }

  @Test
  void sourceThatGivesTooMuchIsAnErrorThatLeaksNothing() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user =
        new TestStream() {
          @Override
          public ByteBuf take(int maxBytes) {
            cancelWrites();
            return driven.allocator.buffer().writeZero(maxBytes + 1);
          }
        };
    user.stream = driven.session.open(user, user);
    driven.next();
    user.write(10);
    assertThrows(IllegalStateException.class, driven::next);
    assertEquals(List.of(), driven.sent());
    driven.assertNothingHeld();
  }

  @Test
  void errorOfASourceLeaksNothing() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user =
        new TestStream() {
          @Override
          public ByteBuf take(int maxBytes) {
            throw new OutOfMemoryError("a test");
          }
        };
    user.stream = driven.session.open(user, user);
    driven.next();
    user.write(10);
    assertThrows(OutOfMemoryError.class, driven::next);
    driven.assertNothingHeld();
  }

  @Test
  void streamThatIsBlockedDoesNotHoldUpOthers() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream blocked = driven.open().write(300_000);
    blocked.stream.priority(0);
    TestStream other = driven.open().write(10);
    other.stream.priority(7);
    List<String> sent = driven.sent();
    assertEquals("PSH 5 10", sent.get(sent.size() - 1));
    assertEquals(300_000 - 262_144, blocked.unsent());
    other.write(20);
    assertEquals(List.of("PSH 5 20"), driven.sent());
    driven.receive(driven.upd(3, 262_144, 100));
    assertEquals(List.of("PSH 3 100"), driven.sent());
  }
}
