package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Frames on the wire, and the life of streams without flow control. */
class SmuxSessionTest {

  private static final byte[] HELLO = "hello".getBytes(StandardCharsets.US_ASCII);

  private static String hex(ByteBuf frame) {
    try {
      return ByteBufUtil.hexDump(frame);
    } finally {
      frame.release();
    }
  }

  @Test
  void framesAreThoseOfTheWireFormat() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(SmuxConfig.DEFAULT, true);
    TestStream user = driven.open();
    user.write(HELLO);
    user.stream.shutdownOutput();
    assertEquals("0200000003000000", hex(driven.session.nextFrame(driven.allocator)));
    assertEquals(
        "0202050003000000" + ByteBufUtil.hexDump(HELLO),
        hex(driven.session.nextFrame(driven.allocator)));
    assertEquals("0201000003000000", hex(driven.session.nextFrame(driven.allocator)));
    driven.receive(driven.psh(3, HELLO));
    assertEquals(
        "0204080003000000" + "0500000000000100", hex(driven.session.nextFrame(driven.allocator)));
    driven.runFor(10_000);
    assertEquals("0203000000000000", hex(driven.session.nextFrame(driven.allocator)));
    assertFalse(driven.session.hasFrame());
  }

  @Test
  void versionOneDiffersInTheFirstByteAndHasNoWindowUpdates() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().version(1), true);
    driven.open().write(HELLO);
    assertEquals("0100000003000000", hex(driven.session.nextFrame(driven.allocator)));
    assertEquals(
        "0102050003000000" + ByteBufUtil.hexDump(HELLO),
        hex(driven.session.nextFrame(driven.allocator)));
    driven.receive(driven.psh(3, HELLO));
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void clientsOpenOddStreamsFromThreeOnAndServersEvenOnesFromTwoOn() throws SmuxException {
    DrivenSmux client = DrivenSmux.client();
    DrivenSmux server = DrivenSmux.server();
    for (DrivenSmux driven : List.of(client, server)) {
      driven.open();
      driven.open();
    }
    assertEquals(List.of("SYN 3", "SYN 5"), client.sent());
    assertEquals(List.of("SYN 2", "SYN 4"), server.sent());
  }

  @Test
  void streamsOfThePeerMayHaveAnyUnusedId() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    driven.receive(driven.syn(2), driven.syn(3), driven.syn(-1), driven.syn(0));
    assertEquals(4, driven.session.openStreams());
    driven.open();
    assertEquals(List.of("SYN 5"), driven.sent(), "the peer has used 3");
  }

  @Test
  void whatIsWrittenArrives() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3), driven.psh(3, HELLO), driven.psh(3, HELLO));
    TestStream user = driven.accepted.get(0);
    assertArrayEquals("hellohello".getBytes(StandardCharsets.US_ASCII), user.received());
    assertEquals(1, user.inputReadyCalls);
    assertFalse(user.stream.isInputEnded());
    user.stream.close();
    driven.assertNothingHeld();
  }

  @Test
  void inputMayBeCutAnywhere() throws SmuxException {
    DrivenSmux frames = DrivenSmux.server();
    ByteBuf whole =
        Unpooled.copiedBuffer(
            frames.syn(3),
            frames.psh(3, HELLO),
            frames.nop(),
            frames.psh(3, 0),
            frames.upd(3, 0, 77),
            frames.psh(3, HELLO),
            frames.fin(3));
    for (int step = 1; step <= whole.readableBytes(); step++) {
      DrivenSmux driven = DrivenSmux.server();
      for (int at = 0; at < whole.readableBytes(); at += step) {
        driven.receive(whole.slice(at, Math.min(step, whole.readableBytes() - at)));
      }
      TestStream user = driven.accepted.get(0);
      assertArrayEquals("hellohello".getBytes(StandardCharsets.US_ASCII), user.received());
      assertTrue(user.stream.isInputEnded());
      assertEquals(77, user.stream.sendableBytes());
      assertEquals(7, driven.session.stats().framesIn());
      assertEquals(10, driven.session.stats().bytesIn());
      user.stream.close();
      driven.assertNothingHeld();
    }
  }

  @Test
  void frameThatCannotBeUnderstoodEndsTheSessionAfterWhatCameBefore() throws SmuxException {
    DrivenSmux frames = DrivenSmux.server();
    List<ByteBuf> bad =
        List.of(
            frames.syn(3).setByte(0, 1),
            frames.syn(3).setByte(0, 0),
            frames.nop().setByte(1, 5),
            frames.nop().setByte(1, 255),
            frames.syn(5).setByte(2, 1),
            frames.fin(3).setByte(2, 1),
            frames.nop().setByte(3, 1),
            frames.upd(3, 0, 1).setByte(2, 7));
    for (ByteBuf frame : bad) {
      DrivenSmux driven = DrivenSmux.server();
      SmuxException cause =
          assertThrows(
              SmuxException.class,
              () -> driven.receive(driven.syn(3), driven.psh(3, HELLO), frame, driven.nop()));
      TestStream user = driven.accepted.get(0);
      assertArrayEquals(HELLO, user.received());
      driven.session.fail(cause);
      assertSame(cause, user.failure);
      driven.assertNothingHeld();
    }
  }

  @Test
  void windowUpdateInVersionOneEndsTheSession() {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().version(1), false);
    assertThrows(SmuxException.class, () -> driven.receive(driven.upd(3, 0, 1)));
  }

  @Test
  void eachDirectionEndsByItself() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3), driven.psh(3, HELLO), driven.fin(3));
    TestStream user = driven.accepted.get(0);
    assertTrue(user.stream.isInputEnded());
    assertEquals(1, driven.session.openStreams());
    driven.sent();
    user.write(HELLO);
    assertEquals(List.of("PSH 3 5"), driven.sent());
    user.write(HELLO);
    user.stream.shutdownOutput();
    assertFalse(user.isOutputEnded);
    assertEquals("PSH 3 5", driven.next());
    assertFalse(user.isOutputEnded);
    assertEquals("FIN 3", driven.next());
    assertTrue(user.isOutputEnded);
    assertEquals(0, driven.session.openStreams(), "both have ended");
    driven.assertNothingHeld();
  }

  @Test
  void outputThatEndsFirstLeavesTheInputOpen() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.stream.shutdownOutput();
    assertEquals(List.of("SYN 3", "FIN 3"), driven.sent());
    user.stream.shutdownOutput();
    user.write(HELLO);
    assertEquals(List.of(), driven.sent(), "nothing follows the FIN");
    driven.receive(driven.psh(3, HELLO), driven.fin(3));
    assertArrayEquals(HELLO, user.received());
    assertTrue(user.stream.isInputEnded());
    assertEquals(0, driven.session.openStreams());
    user.stream.close();
    assertEquals(List.of(), driven.sent());
    assertNull(user.failure);
    driven.assertNothingHeld();
  }

  @Test
  void streamThatHasEndedCanStillBeRead() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.isReading = false;
    user.stream.shutdownOutput();
    driven.sent();
    driven.receive(driven.psh(3, HELLO), driven.fin(3));
    assertEquals(5, user.stream.readableBytes());
    assertFalse(user.stream.isInputEnded());
    assertEquals(1, driven.session.openStreams());
    assertEquals(5, user.readAll());
    assertTrue(user.stream.isInputEnded());
    assertNull(user.stream.read());
    assertEquals(0, driven.session.openStreams());
    driven.assertNothingHeld();
  }

  @Test
  void closedStreamSendsFinAtOnceAndDropsTheRest() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.isReading = false;
    driven.receive(driven.psh(3, HELLO));
    user.write(100_000);
    assertEquals("SYN 3", driven.next());
    assertEquals("PSH 3 32768", driven.next());
    user.stream.close();
    user.stream.close();
    user.stream.shutdownOutput();
    assertTrue(user.stream.isClosed());
    assertEquals(0, user.stream.readableBytes());
    assertNull(user.stream.read());
    assertEquals(List.of("UPD 3 5 65536", "FIN 3"), driven.sent());
    assertFalse(user.isOutputEnded, "no calls after close");
    driven.receive(driven.fin(3));
    assertEquals(0, driven.session.stats().closingStreams());
    driven.assertNothingHeld();
  }

  @Test
  void finFollowsWhenTheRestOfTheSourceWasCancelled() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(300_000);
    user.stream.shutdownOutput();
    assertEquals(262_144, driven.sentBytes(user.stream));
    user.cancelWrites();
    driven.receive(driven.upd(3, 262_144, 65_536));
    assertEquals(List.of("FIN 3"), driven.sent());
  }

  @Test
  void shutdownOfABlockedStreamWhoseSourceIsEmptySendsFinAtOnce() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(300_000);
    driven.sent();
    user.cancelWrites();
    user.stream.shutdownOutput();
    assertEquals(List.of("FIN 3"), driven.sent());
  }

  @Test
  void refusedStreamGetsFin() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.isRefusing = true;
    driven.receive(driven.syn(3), driven.psh(3, HELLO));
    assertEquals(List.of("UPD 3 5 65536", "FIN 3"), driven.sent());
    assertEquals(0, driven.session.openStreams());
    assertEquals(1, driven.session.stats().closingStreams());
    assertEquals(1, driven.session.stats().refusedStreams());
    driven.receive(driven.fin(3));
    assertEquals(0, driven.session.stats().closingStreams());
    driven.assertNothingHeld();
  }

  @Test
  void streamWhoseListenerCannotBeMadeIsRefused() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.users =
        () -> {
          throw new IllegalStateException("no user");
        };
    assertThrows(IllegalStateException.class, () -> driven.receive(driven.syn(3)));
    assertEquals(List.of("FIN 3"), driven.sent());
    driven.users = TestStream::new;
    driven.receive(driven.psh(3, HELLO), driven.syn(5), driven.psh(5, HELLO));
    assertArrayEquals(HELLO, driven.accepted.get(0).received());
  }

  @Test
  void framesForUnknownStreamsAreDropped() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.psh(9, HELLO), driven.fin(9), driven.upd(9, 1, 1), driven.syn(3));
    assertEquals(1, driven.session.openStreams());
    assertEquals(5, driven.session.stats().discardedBytes());
    assertEquals(List.of(), driven.sent());
    driven.assertNothingHeld();
  }

  @Test
  void dataAfterFinIsDroppedAndCounted() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3), driven.fin(3), driven.psh(3, HELLO), driven.fin(3));
    TestStream user = driven.accepted.get(0);
    assertEquals(0, user.received().length);
    assertTrue(user.stream.isInputEnded());
    assertEquals(1, driven.session.stats().violations());
    assertEquals(1, driven.session.openStreams());
  }

  @Test
  void failureEndsEveryStreamOnce() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3), driven.syn(5), driven.syn(7));
    driven.accepted.get(0).isReading = false;
    driven.accepted.get(2).stream.close();
    TestStream own = driven.open();
    driven.receive(driven.psh(3, HELLO));
    own.write(HELLO);
    Exception cause = new Exception("gone");
    driven.session.fail(cause);
    driven.session.fail(new Exception("again"));
    assertSame(cause, driven.accepted.get(0).failure);
    assertSame(cause, driven.accepted.get(1).failure);
    assertNull(driven.accepted.get(2).failure);
    assertSame(cause, own.failure);
    assertNull(own.stream.read());
    own.stream.close();
    own.stream.shutdownOutput();
    own.stream.outputReady();
    assertFalse(driven.session.hasFrame());
    assertNull(driven.session.nextFrame(driven.allocator));
    assertThrows(SmuxException.class, driven::open);
    driven.receive(driven.syn(9), driven.psh(9, HELLO));
    assertEquals(3, driven.accepted.size());
    assertTrue(driven.session.runTimers(driven.nowMs + 100_000) > 0);
    driven.assertNothingHeld();
  }

  @Test
  void listenerMayFailTheSessionWhileItReceives() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.users =
        () ->
            new TestStream() {
              @Override
              public void inputReady(SmuxStream ready) {
                ready.session().fail(new Exception("reader"));
              }
            };
    driven.receive(driven.syn(3), driven.psh(3, HELLO), driven.syn(5), driven.psh(5, HELLO));
    assertNotNull(driven.accepted.get(0).failure);
    assertNotNull(driven.accepted.get(1).failure);
    driven.assertNothingHeld();
  }

  @Test
  void listenerMayFailTheSessionWhileAStreamIsOpened() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.users =
        () -> {
          driven.session.fail(new Exception("opened"));
          return new TestStream();
        };
    driven.receive(driven.syn(3), driven.syn(5));
    assertEquals(1, driven.accepted.size());
    assertNotNull(driven.accepted.get(0).failure);
    assertEquals(0, driven.session.openStreams());
  }

  @Test
  void listenerMayCloseItsStreamAndOpenOthersAtAnyCall() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.users =
        () ->
            new TestStream() {
              @Override
              public void inputReady(SmuxStream ready) {
                ready.close();
                try {
                  driven.open().write(HELLO);
                } catch (SmuxException e) {
                  throw new AssertionError(e);
                }
              }
            };
    driven.receive(driven.syn(3), driven.psh(3, HELLO), driven.syn(5), driven.psh(5, HELLO));
    assertEquals(
        List.of(
            "UPD 3 5 65536",
            "FIN 3",
            "SYN 2",
            "UPD 5 5 65536",
            "FIN 5",
            "SYN 4",
            "PSH 2 5",
            "PSH 4 5"),
        driven.sent());
  }

  @Test
  void driverIsToldOnceThatThereAreFrames() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    assertEquals(1, driven.frameReadyCalls);
    user.write(HELLO);
    driven.open();
    assertEquals(1, driven.frameReadyCalls);
    driven.sent();
    assertEquals(1, driven.frameReadyCalls);
    user.write(HELLO);
    assertEquals(2, driven.frameReadyCalls);
    driven.sent();
    driven.receive(driven.psh(3, HELLO));
    assertEquals(3, driven.frameReadyCalls, "a window update");
    driven.sent();
    user.stream.shutdownOutput();
    assertEquals(4, driven.frameReadyCalls, "FIN");
  }

  @Test
  void driverIsToldAgainAfterAFrameThatDisappeared() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open().write(2_000);
    assertEquals("SYN 3", driven.next());
    driven.receive(driven.upd(3, 0, 0));
    assertFalse(driven.session.hasFrame());
    assertEquals(1, driven.frameReadyCalls);
    driven.receive(driven.upd(3, 0, 1_000));
    assertEquals(2, driven.frameReadyCalls);
    user.cancelWrites();
    assertFalse(driven.session.hasFrame());
    user.write(1);
    assertEquals(3, driven.frameReadyCalls);
  }

  @Test
  void driverMayTakeFramesWhenItIsTold() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    List<String> taken = new ArrayList<>();
    driven.onFrameReady = () -> taken.addAll(driven.sent());
    TestStream user = driven.open().write(HELLO);
    driven.receive(driven.psh(3, HELLO));
    user.stream.close();
    assertEquals(List.of("SYN 3", "PSH 3 5", "UPD 3 5 65536", "FIN 3"), taken);
    assertEquals(4, driven.frameReadyCalls);
  }

  @Test
  void idsThatAreUsedUpFailToOpen() throws SmuxException {
    StreamTable table = new StreamTable(true, ConnectionMemory.UNLIMITED);
    table.nextId(0xffff_fffdL);
    assertEquals(0xffff_fffd, table.takeId());
    assertEquals(0xffff_ffff, table.takeId());
    assertThrows(SmuxException.class, table::takeId);
  }
}
