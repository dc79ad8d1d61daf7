package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a session charges to the memory of its connection, and what it does without room. */
class SmuxMemoryTest {

  /** A memory with a limit, that knows what it is used for. */
  static final class LimitedMemory implements ConnectionMemory {

    long limitBytes = 1 << 20;
    long reservedBytes;
    long unreadBytes;
    boolean isPeerValidated = true;
    int proofsAsked;

    @Override
    public boolean tryReserveChannel(int bytes) {
      return tryReserveStream(bytes);
    }

    @Override
    public boolean tryReserveStream(int bytes) {
      boolean hasRoom = reservedBytes + unreadBytes + bytes <= limitBytes;
      reservedBytes += hasRoom ? bytes : 0;
      return hasRoom;
    }

    @Override
    public void release(int bytes) {
      reservedBytes -= bytes;
      assertTrue(reservedBytes >= 0);
    }

    @Override
    public boolean chargeUnread(int bytes) {
      unreadBytes += bytes;
      return reservedBytes + unreadBytes <= limitBytes;
    }

    @Override
    public void releaseUnread(int bytes) {
      unreadBytes -= bytes;
      assertTrue(unreadBytes >= 0);
    }

    @Override
    public boolean isPeerValidated() {
      return isPeerValidated;
    }

    @Override
    public void validatePeer() {
      proofsAsked++;
    }

    @Override
    public boolean isRevoked() {
      return false;
    }

    void assertEmpty() {
      assertEquals(0, reservedBytes);
      assertEquals(0, unreadBytes);
    }
  }

  private final LimitedMemory memory = new LimitedMemory();

  private DrivenSmux server(SmuxConfig.Builder config) {
    return new DrivenSmux(config.build(), false, memory);
  }

  @Test
  void streamsOfThePeerCountUntilTheyAreOver() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config());
    driven.receive(driven.syn(3), driven.syn(5));
    assertEquals(2 * StreamTable.STREAM_BYTES, memory.reservedBytes);
    driven.open();
    assertEquals(2 * StreamTable.STREAM_BYTES, memory.reservedBytes, "own streams do not");
    driven.accepted.forEach(user -> user.stream.close());
    driven.sent();
    driven.receive(driven.fin(3));
    assertEquals(StreamTable.STREAM_BYTES, memory.reservedBytes, "one waits for the peer's FIN");
    driven.receive(driven.fin(5));
    memory.assertEmpty();
  }

  @Test
  void refusedStreamsCountWhileTheyWaitForThePeersFin() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().maxStreams(1));
    driven.receive(driven.syn(3), driven.syn(5));
    assertEquals(2 * StreamTable.STREAM_BYTES, memory.reservedBytes);
    driven.sent();
    driven.receive(driven.fin(5));
    assertEquals(StreamTable.STREAM_BYTES, memory.reservedBytes);
  }

  @Test
  void streamIsRefusedWhereThereIsNoRoomForIt() throws SmuxException {
    memory.limitBytes = 3 * StreamTable.STREAM_BYTES;
    DrivenSmux driven = server(DrivenSmux.config());
    for (int id = 3; id < 2003; id += 2) {
      driven.receive(driven.syn(id), driven.psh(id, 100));
    }
    assertEquals(3, driven.accepted.size());
    assertEquals(997, driven.session.stats().refusedStreams());
    assertEquals(3, driven.session.openStreams());
    assertTrue(memory.reservedBytes <= memory.limitBytes);
    driven.sent();
    driven.accepted.get(0).stream.close();
    driven.receive(driven.fin(3));
    driven.sent();
    driven.receive(driven.syn(2005));
    assertEquals(4, driven.accepted.size());
  }

  @Test
  void bytesCountFromTheirArrivalUntilTheyAreRead() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config());
    driven.receive(driven.syn(3), driven.psh(3, 5_000));
    assertEquals(0, memory.unreadBytes, "read at once");
    TestStream user = driven.accepted.get(0);
    user.isReading = false;
    driven.receive(driven.psh(3, 5_000), driven.psh(3, 1));
    assertEquals(5_000 + ReceiveQuota.MIN_CHARGE_BYTES, memory.unreadBytes);
    user.readPiece();
    assertEquals(ReceiveQuota.MIN_CHARGE_BYTES, memory.unreadBytes);
    user.isReading = true;
    driven.receive(driven.psh(3, 10));
    assertEquals(0, memory.unreadBytes);
    assertEquals(10_011, user.received().length);
  }

  /** One read of the connection is kept without room for it, and may have frames of one byte. */
  @Test
  void tinyPiecesOfOneReadCountTogether() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config());
    driven.users = SmuxMemoryTest::pausedUser;
    memory.limitBytes = StreamTable.STREAM_BYTES;
    ByteBuf[] frames = new ByteBuf[3_001];
    frames[0] = driven.syn(3);
    for (int i = 1; i < frames.length; i++) {
      frames[i] = driven.psh(3, new byte[] {(byte) i});
    }
    driven.receive(frames);
    assertEquals(3_000, memory.unreadBytes);
    assertEquals(3_000, driven.session.stats().unreadBytes());
    TestStream user = driven.accepted.get(0);
    assertEquals(3_000, user.readAll());
    for (int i = 1; i < frames.length; i++) {
      assertEquals((byte) i, user.received()[i - 1]);
    }
    assertEquals(0, memory.unreadBytes);
    assertEquals(0, driven.session.stats().unreadBytes());
    driven.session.fail(new SmuxException("the end"));
    memory.assertEmpty();
    driven.assertNothingHeld();
  }

  @Test
  void closedStreamsCountNothing() throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config());
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3), driven.psh(3, 5_000), driven.syn(5), driven.psh(5, 6_000));
    assertEquals(11_000, memory.unreadBytes);
    driven.accepted.get(0).stream.close();
    assertEquals(6_000, memory.unreadBytes);
    driven.session.fail(new SmuxException("the end"));
    memory.assertEmpty();
    driven.assertNothingHeld();
  }

  /** One read of the connection may exceed the limit; then reading stops, and nothing is lost. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void withoutRoomTheConnectionIsNotRead(int version) throws SmuxException {
    memory.limitBytes = 20_000;
    DrivenSmux driven = server(DrivenSmux.config().version(version));
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3), driven.psh(3, 10_000));
    assertFalse(driven.session.isReceiveBlocked());
    driven.receive(driven.psh(3, 10_000));
    assertTrue(driven.session.isReceiveBlocked());
    TestStream user = driven.accepted.get(0);
    user.readPiece();
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(1, driven.receiveReadyCalls);
    user.readAll();
    assertEquals(20_000, user.received().length);
    assertEquals(0, memory.unreadBytes);
  }

  /** Others hold all the memory, and never release any: a stream that is read goes on. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void sessionWhoseStreamsAreReadGoesOnWithoutAnyRoom(int version) throws SmuxException {
    DrivenSmux driven = server(DrivenSmux.config().version(version));
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3));
    memory.limitBytes = 0;
    TestStream user = driven.accepted.get(0);
    for (int i = 1; i <= 100; i++) {
      driven.receive(driven.psh(3, 10_000));
      assertTrue(driven.session.isReceiveBlocked());
      assertEquals(10_000, user.readAll());
      assertFalse(driven.session.isReceiveBlocked());
      assertEquals(i, driven.receiveReadyCalls);
      driven.sent();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void connectionIsReadAgainSoonAfterOthersHaveMadeRoom(int version) throws SmuxException {
    memory.limitBytes = 10_000;
    DrivenSmux driven = server(DrivenSmux.config().version(version));
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3), driven.psh(3, 10_000));
    driven.runFor(5_000);
    assertTrue(driven.session.isReceiveBlocked());
    memory.limitBytes = 13_000;
    driven.runFor(100);
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(1, driven.receiveReadyCalls);
  }

  @Test
  void streamThatIsNotReadIsCutWhileThereIsNoRoom() throws SmuxException {
    memory.limitBytes = 20_000;
    DrivenSmux driven = server(DrivenSmux.config().stalledStreamMs(1_000));
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3), driven.psh(3, 5_000), driven.syn(5), driven.psh(5, 15_000));
    driven.runFor(999);
    assertTrue(driven.session.isReceiveBlocked());
    driven.runFor(100);
    assertNotNull(driven.accepted.get(1).failure, "the one that holds most");
    assertEquals(null, driven.accepted.get(0).failure);
    assertFalse(driven.session.isReceiveBlocked());
    assertEquals(5_000, memory.unreadBytes);
  }

  @Test
  void pauseUntilThereIsRoomAgainCutsNothing() throws SmuxException {
    memory.limitBytes = 20_000;
    DrivenSmux driven = server(DrivenSmux.config().stalledStreamMs(1_000));
    driven.users = SmuxMemoryTest::pausedUser;
    driven.receive(driven.syn(3), driven.psh(3, 20_000));
    driven.runFor(900);
    memory.limitBytes = 30_000;
    driven.runFor(10_000);
    assertEquals(null, driven.accepted.get(0).failure);
  }

  @Test
  void streamsOfAnUnprovenPeerBeyondEightWait() throws SmuxException {
    memory.isPeerValidated = false;
    DrivenSmux driven = server(DrivenSmux.config());
    byte[] payload = {1, 2, 3};
    for (int id = 3; id < 3 + 2 * 10; id += 2) {
      driven.receive(driven.syn(id), driven.psh(id, payload));
    }
    driven.receive(driven.fin(21));
    assertEquals(8, driven.accepted.size());
    assertEquals(2, memory.proofsAsked);
    assertEquals(0, driven.session.stats().refusedStreams());
    assertEquals(2 * ReceiveQuota.MIN_CHARGE_BYTES, memory.unreadBytes);
    driven.session.peerValidated(driven.allocator);
    assertEquals(8, driven.accepted.size(), "it has not proven anything");
    memory.isPeerValidated = true;
    driven.session.peerValidated(driven.allocator);
    assertEquals(10, driven.accepted.size());
    for (TestStream user : driven.accepted) {
      assertArrayEquals(payload, user.received());
    }
    assertTrue(driven.accepted.get(9).stream.isInputEnded());
    assertFalse(driven.accepted.get(8).stream.isInputEnded());
    assertEquals(0, memory.unreadBytes);
  }

  @Test
  void waitingStreamIsAcceptedByTheNextFrameAfterTheProof() throws SmuxException {
    memory.isPeerValidated = false;
    DrivenSmux driven = server(DrivenSmux.config());
    for (int id = 3; id < 3 + 2 * 9; id += 2) {
      driven.receive(driven.syn(id));
    }
    memory.isPeerValidated = true;
    driven.receive(driven.psh(19, 7));
    assertEquals(9, driven.accepted.size());
    assertEquals(7, driven.accepted.get(8).received().length);
  }

  @Test
  void waitingStreamsMayBeCutAndFail() throws SmuxException {
    memory.isPeerValidated = false;
    memory.limitBytes = 64 << 20;
    DrivenSmux driven = server(DrivenSmux.config());
    for (int id = 3; id < 3 + 2 * 10; id += 2) {
      driven.receive(driven.syn(id));
    }
    driven.receiveData(19, StreamInput.INITIAL_WINDOW, 50_000);
    driven.receive(driven.psh(19, 1));
    assertEquals(1, driven.session.stats().cutStreams());
    assertEquals(List.of("FIN 19"), driven.sent());
    memory.isPeerValidated = true;
    driven.session.peerValidated(driven.allocator);
    assertEquals(9, driven.accepted.size(), "without the one that was cut");
    driven.session.fail(new SmuxException("the end"));
    memory.assertEmpty();
  }

  @Test
  void refusalOfAWaitingStreamIsAFin() throws SmuxException {
    memory.isPeerValidated = false;
    DrivenSmux driven = server(DrivenSmux.config());
    for (int id = 3; id < 3 + 2 * 9; id += 2) {
      driven.receive(driven.syn(id));
    }
    driven.isRefusing = true;
    memory.isPeerValidated = true;
    driven.session.peerValidated(driven.allocator);
    assertEquals(List.of("FIN 19"), driven.sent());
    assertEquals(1, driven.session.stats().refusedStreams());
  }

  private static TestStream pausedUser() {
    TestStream user = new TestStream();
    user.isReading = false;
    return user;
  }
}
