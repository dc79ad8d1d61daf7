package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.sim.FailingAllocator;
import io.kcp4j.sim.FaultCounts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a session takes in: receive windows, the receive buffer, and who owns the bytes. */
class SmuxReceiveTest {

  private static final int INITIAL = 262_144;

  private static DrivenSmux server(SmuxConfig.Builder config) {
    return new DrivenSmux(config, false);
  }

  /** Opens a stream of the peer's. */
  private static TestStream accept(DrivenSmux driven, int id) throws SmuxException {
    driven.receive(driven.syn(id));
    return driven.accepted.get(driven.accepted.size() - 1);
  }

  private static TestStream paused(DrivenSmux driven, int id) throws SmuxException {
    TestStream user = accept(driven, id);
    user.isReading = false;
    return user;
  }

  @Test
  void consumptionIsReportedAfterTheFirstReadAndEachHalfWindow() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    accept(driven, 3);
    driven.receive(driven.psh(3, 1));
    assertEquals(List.of("UPD 3 1 1000"), driven.sent());
    driven.receive(driven.psh(3, 499));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.psh(3, 1));
    assertEquals(List.of("UPD 3 501 1000"), driven.sent());
    driven.receive(driven.psh(3, 400), driven.psh(3, 100));
    assertEquals(List.of("UPD 3 1001 1000"), driven.sent());
  }

  @Test
  void streamsReportTogetherWhatIsHalfAWindowOfAll() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    accept(driven, 3);
    accept(driven, 5);
    driven.receive(driven.psh(3, 1), driven.psh(5, 1));
    assertEquals(List.of("UPD 3 1 1000", "UPD 5 1 1000"), driven.sent());
    driven.receive(driven.psh(3, 300), driven.psh(5, 199));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.psh(5, 1));
    assertEquals(List.of("UPD 3 301 1000", "UPD 5 201 1000"), driven.sent());
    driven.receive(driven.psh(5, 499));
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void eachReadIsReportedWhileHalfAWindowIsUnread() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    accept(driven, 5);
    driven.receive(driven.psh(5, 1), driven.psh(5, 10));
    assertEquals(List.of("UPD 5 11 1000"), driven.sent());
    TestStream unread = paused(driven, 3);
    driven.receive(driven.psh(3, 499), driven.psh(5, 10));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.psh(3, 1));
    assertEquals(
        List.of("UPD 5 21 1000", "UPD 5 21 1000"), driven.sent(), "the first one is repeated");
    driven.receive(driven.psh(5, 10));
    assertEquals(List.of("UPD 5 31 1000"), driven.sent());
    unread.readAll();
    assertEquals(List.of("UPD 3 500 1000"), driven.sent());
    driven.receive(driven.psh(5, 10));
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void firstUpdateIsRepeatedWhileHalfAWindowIsUnread() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    paused(driven, 3);
    driven.receive(driven.psh(3, 1000));
    assertEquals(List.of(), driven.sent());
    accept(driven, 5);
    driven.receive(driven.psh(5, 1));
    assertEquals(List.of("UPD 5 1 1000", "UPD 5 1 1000"), driven.sent());
  }

  @Test
  void streamWithoutUnreportedBytesTellsThatReportsAreEarly() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    TestStream unread = accept(driven, 3);
    driven.receive(driven.psh(3, 1));
    assertEquals(List.of("UPD 3 1 1000"), driven.sent());
    unread.isReading = false;
    driven.receive(driven.psh(3, 1000));
    assertEquals(List.of("UPD 3 1 1000", "UPD 3 1 1000"), driven.sent());
  }

  @Test
  void updateThatWaitsReportsWhatIsConsumedWhenItLeaves() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(1000));
    accept(driven, 3);
    driven.receive(driven.psh(3, 1));
    driven.receive(driven.psh(3, 700));
    driven.receive(driven.psh(3, 20));
    assertEquals(List.of("UPD 3 721 1000"), driven.sent());
  }

  @Test
  void restIsReportedAtTheEndOfTheInput() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.receive(driven.psh(3, 10));
    driven.sent();
    driven.receive(driven.psh(3, 20), driven.fin(3));
    assertEquals(List.of("UPD 3 30 65536"), driven.sent());
    user.stream.close();
    assertEquals(List.of("FIN 3"), driven.sent());
  }

  @Test
  void nothingIsReportedWithTheLastFin() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.receive(driven.psh(3, 10), driven.fin(3));
    user.stream.close();
    assertEquals(List.of("FIN 3"), driven.sent());
  }

  @Test
  void streamTakesTheInitialWindowOfThePeer() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = paused(driven, 3);
    driven.receiveData(3, INITIAL, 32_768);
    assertNull(user.failure);
    driven.receive(driven.psh(3, 1));
    assertNotNull(user.failure);
    assertEquals(1, driven.session.stats().violations());
    assertEquals(1, driven.session.stats().cutStreams());
    assertEquals(List.of("FIN 3"), driven.sent(), "and no credit");
    driven.receiveData(3, INITIAL, 32_768);
    assertEquals(List.of("UPD 3 " + (2 * INITIAL + (1 << 30)) + " 0"), driven.sent());
    driven.receive(driven.fin(3));
    driven.assertNothingHeld();
  }

  @Test
  void streamTakesItsWindowBeyondWhatWasReported() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreamBuffer(200_000));
    TestStream user = accept(driven, 3);
    driven.receiveData(3, 150_000, 10_000);
    assertEquals(List.of("UPD 3 150000 200000"), driven.sent());
    user.isReading = false;
    driven.receiveData(3, 200_000, 10_000);
    assertNull(user.failure);
    driven.receive(driven.psh(3, 1));
    assertNotNull(user.failure);
  }

  @Test
  void windowCountsOnlyWhenItsUpdateHasLeft() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.receiveData(3, INITIAL, 32_768);
    driven.receive(driven.psh(3, 1));
    assertNotNull(user.failure);
  }

  @Test
  void streamsOfOneThatSendsTooMuchDoNotHarmOthers() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    paused(driven, 3);
    TestStream other = accept(driven, 5);
    driven.receiveData(3, INITIAL + 1, 32_768);
    driven.receive(driven.psh(5, 10));
    assertEquals(10, other.received().length);
    assertNull(other.failure);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void sessionIsBlockedFromTheLimitOn(int version) throws SmuxException {
    DrivenSmux driven =
        server(
            DrivenSmux.config().version(version).maxReceiveBuffer(10_000).maxStreamBuffer(10_000));
    TestStream user = paused(driven, 3);
    driven.receive(driven.psh(3, 9_999));
    assertFalse(driven.session.isReceiveBlocked());
    driven.receive(driven.psh(3, 1));
    assertTrue(driven.session.isReceiveBlocked());
    assertEquals(0, driven.receiveReadyCalls);
    user.readAll();
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(1, driven.receiveReadyCalls);
  }

  @Test
  void smallPieceCountsAs256Bytes() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxReceiveBuffer(2_560).maxStreamBuffer(2_560));
    TestStream user = paused(driven, 3);
    for (int i = 0; i < 9; i++) {
      driven.receive(driven.psh(3, 1));
    }
    assertEquals(9 * 256, driven.session.stats().unreadBytes());
    assertFalse(driven.session.isReceiveBlocked());
    driven.receive(driven.psh(3, 1));
    assertTrue(driven.session.isReceiveBlocked());
    assertEquals(10, user.readAll());
    driven.assertNothingHeld();
  }

  @Test
  void whatIsReceivedWhileBlockedIsNotLost() throws SmuxException {
    DrivenSmux driven =
        server(DrivenSmux.config().version(1).maxReceiveBuffer(1_000).maxStreamBuffer(1_000));
    TestStream user = paused(driven, 3);
    driven.receiveData(3, 5_000, 700);
    assertEquals(5_000, user.readAll());
    driven.assertNothingHeld();
  }

  @Test
  void closingAStreamEndsTheBlock() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxReceiveBuffer(1_000).maxStreamBuffer(1_000));
    TestStream user = paused(driven, 3);
    driven.receive(driven.psh(3, 2_000));
    user.stream.close();
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(1, driven.receiveReadyCalls);
  }

  @Test
  void largestStalledStreamIsCutAfterTheGraceTime() throws SmuxException {
    DrivenSmux driven =
        server(DrivenSmux.config().maxReceiveBuffer(10_000).maxStreamBuffer(10_000));
    TestStream small = paused(driven, 3);
    TestStream large = paused(driven, 5);
    TestStream read = paused(driven, 7);
    driven.receive(driven.psh(3, 2_000), driven.psh(5, 3_500));
    driven.receive(driven.psh(7, 500), driven.psh(7, 4_000));
    assertTrue(driven.session.isReceiveBlocked());
    driven.runFor(9_999);
    assertEquals(500, read.readPiece());
    assertEquals(1, driven.receiveReadyCalls);
    driven.receive(driven.psh(7, 500));
    assertTrue(driven.session.isReceiveBlocked());
    assertNull(large.failure);
    driven.runFor(20);
    assertNotNull(large.failure);
    assertNull(small.failure);
    assertNull(read.failure);
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(2, driven.receiveReadyCalls);
    assertEquals(List.of("UPD 5 3500 10000", "FIN 5"), onlyOf(driven.sent(), " 5"));
    assertEquals(1, driven.session.stats().cutStreams());
  }

  private static List<String> onlyOf(List<String> frames, String id) {
    return frames.stream().filter(frame -> (frame + " ").contains(id + " ")).toList();
  }

  @Test
  void unreadStreamsDoNotBlockAnotherForLong() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    List<TestStream> unread = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      unread.add(paused(driven, 3 + 2 * i));
    }
    TestStream other = accept(driven, 1001);
    int[] left = new int[64];
    Arrays.fill(left, INITIAL);
    int blockedMs = 0;
    for (int stream = 0; stream < 64; ) {
      if (driven.session.isReceiveBlocked()) {
        blockedMs += 20;
        driven.receiveReadyCalls = 0;
        driven.runFor(20);
      } else if (left[stream] == 0) {
        stream++;
      } else {
        left[stream] -= 32_768;
        driven.receive(driven.psh(3 + 2 * stream, 32_768), driven.psh(1001, 10));
      }
    }
    assertEquals(64 * 8 * 10, other.received().length);
    assertTrue(blockedMs < 60_000, blockedMs + " ms");
    assertTrue(unread.stream().filter(user -> user.failure == null).count() >= 12);
  }

  @Test
  void streamThatIsReadSlowlyIsNotCut() throws SmuxException {
    DrivenSmux driven =
        server(DrivenSmux.config().maxReceiveBuffer(10_000).maxStreamBuffer(10_000));
    TestStream user = paused(driven, 3);
    for (int i = 0; i < 20; i++) {
      driven.receive(driven.psh(3, 1_000));
    }
    for (int i = 0; i < 10; i++) {
      assertTrue(driven.session.isReceiveBlocked());
      driven.runFor(9_000);
      assertEquals(1_000, user.readPiece());
    }
    assertNull(user.failure);
  }

  @Test
  void versionOneCutsNothing() throws SmuxException {
    DrivenSmux driven =
        server(DrivenSmux.config().version(1).maxReceiveBuffer(1_000).maxStreamBuffer(1_000));
    TestStream user = paused(driven, 3);
    driven.receive(driven.psh(3, 2_000));
    driven.runFor(100_000);
    assertNull(user.failure);
    assertTrue(driven.session.isReceiveBlocked());
    assertEquals(2_000, user.readAll());
  }

  @Test
  void whatIsReadAtOnceIsNotCopied() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    List<ByteBuf> held = new ArrayList<>();
    driven.users =
        () ->
            new TestStream() {
              @Override
              public void inputReady(SmuxStream ready) {
                for (ByteBuf piece; (piece = ready.read()) != null; ) {
                  held.add(piece);
                }
              }
            };
    driven.receive(driven.syn(3));
    ByteBuf in = driven.psh(3, new byte[] {1, 2, 3});
    driven.session.receive(in, driven.nowMs);
    assertEquals(2, in.refCnt());
    in.setByte(8, 77);
    assertEquals(77, held.get(0).getByte(held.get(0).readerIndex()));
    held.get(0).release();
    in.release();
  }

  /** A cumulation buffer that is reused would change what a user has not read yet. */
  @Test
  void whatIsNotReadAtOnceIsIndependentOfTheBufferOfTheConnection() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = paused(driven, 3);
    ByteBuf in = Unpooled.buffer();
    byte[] expected = new byte[300];
    for (int i = 0; i < 300; i++) {
      expected[i] = (byte) i;
      in.clear().writeBytes(driven.psh(3, new byte[] {(byte) i}));
      driven.session.receive(in, driven.nowMs);
      assertEquals(1, in.refCnt());
      in.setZero(0, in.capacity());
    }
    assertEquals(300, user.readAll());
    assertArrayEquals(expected, user.received());
    in.release();
  }

  @Test
  void piecesThatAreReadInPartStayInOrder() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = paused(driven, 3);
    byte[] expected = new byte[60];
    for (int i = 0; i < 60; i += 3) {
      expected[i] = (byte) i;
      expected[i + 1] = (byte) (i + 1);
      expected[i + 2] = (byte) (i + 2);
      driven.receive(
          driven.psh(3, new byte[] {(byte) i}),
          driven.psh(3, new byte[] {(byte) (i + 1), (byte) (i + 2)}));
      if (i % 2 == 0) {
        user.readPiece();
      }
    }
    user.readAll();
    assertArrayEquals(expected, user.received());
    driven.assertNothingHeld();
  }

  @Test
  void allocatorThatFailsLosesNothing() {
    UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(false, true);
    FailingAllocator allocator = new FailingAllocator(memory, 0.5, 1, new FaultCounts());
    StreamInput input = new StreamInput(65_536);
    ReceiveQuota quota = new ReceiveQuota(65_536, 10_000, ConnectionMemory.UNLIMITED);
    ArrayDeque<ByteBuf> scratch = new ArrayDeque<>();
    for (int i = 0; i < 200; i++) {
      input.add(memory.buffer(1).writeByte(i), quota);
      input.add(memory.buffer(1).writeByte(i), quota);
      input.copySlices(allocator, scratch, quota);
    }
    for (int i = 0; i < 200; i++) {
      ByteBuf piece = input.poll(quota);
      assertEquals((byte) i, piece.readByte());
      assertEquals((byte) i, piece.readByte());
      assertFalse(piece.isReadable());
      piece.release();
    }
    assertEquals(0, quota.used());
    assertEquals(0, memory.metric().usedHeapMemory() + memory.metric().usedDirectMemory());
  }
}
