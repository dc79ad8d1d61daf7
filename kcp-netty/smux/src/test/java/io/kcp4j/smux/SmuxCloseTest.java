package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What happens between our close of a stream and the peer's FIN. */
class SmuxCloseTest {

  /** By how much the report that asks the peer to stop exceeds what has arrived. */
  private static final int STOP_OFFSET = 1 << 30;

  private static final int TIMEOUT_MS = 30_000;

  /** How late timeouts of streams may be: the time to the call that begins them, and rounding. */
  private static final int LATE_MS = 5_000;

  private static TestStream accept(DrivenSmux driven, int id) throws SmuxException {
    driven.receive(driven.syn(id));
    return driven.accepted.get(driven.accepted.size() - 1);
  }

  @Test
  void whatThePeerSendsAfterOurCloseIsDiscarded() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    user.isReading = false;
    driven.receive(driven.psh(3, 100));
    user.stream.close();
    assertEquals(List.of("UPD 3 100 65536", "FIN 3"), driven.sent());
    driven.receive(driven.psh(3, 32_767));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.psh(3, 1));
    assertEquals(List.of("UPD 3 " + (32_868 + STOP_OFFSET) + " 0"), driven.sent());
    for (int i = 0; i < 100; i++) {
      driven.receive(driven.psh(3, 32_768));
      assertEquals(List.of(), driven.sent(), "no credit follows");
    }
    assertEquals(101 * 32_768, driven.session.stats().discardedBytes());
    assertEquals(0, driven.session.stats().unreadBytes());
    driven.receive(driven.fin(3));
    assertEquals(0, driven.session.stats().closingStreams());
    driven.receive(driven.psh(3, 32_768));
    assertEquals(List.of(), driven.sent(), "the stream is over");
    assertEquals(0, user.received().length);
  }

  @Test
  void withoutThePeersFinTheStreamIsOverAfterTheTimeout() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    accept(driven, 3).stream.close();
    driven.sent();
    driven.runFor(TIMEOUT_MS - 1);
    assertEquals(1, driven.session.stats().closingStreams());
    driven.runFor(1 + LATE_MS);
    assertEquals(0, driven.session.stats().closingStreams());
    assertEquals(List.of("UPD 3 " + STOP_OFFSET + " 0"), driven.sent());
    driven.receive(driven.psh(3, 60_000));
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void timeoutBeginsWithTheNextRunOfTimers() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.runFor(1);
    driven.nowMs += TIMEOUT_MS;
    user.stream.close();
    driven.sent();
    driven.runFor(TIMEOUT_MS - 1);
    assertEquals(1, driven.session.stats().closingStreams(), "never early");
    driven.runFor(1);
    assertEquals(0, driven.session.stats().closingStreams());
  }

  @Test
  void streamWaitsForItsOwnFinToLeave() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    accept(driven, 3).stream.close();
    driven.runFor(TIMEOUT_MS + LATE_MS);
    assertEquals(1, driven.session.stats().closingStreams());
    assertEquals(List.of("FIN 3", "UPD 3 " + STOP_OFFSET + " 0"), driven.sent());
    assertEquals(0, driven.session.stats().closingStreams());
  }

  @Test
  void closeAfterThePeersFinNeedsNoTimeout() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.receive(driven.fin(3));
    user.stream.close();
    assertEquals(1, driven.session.stats().closingStreams());
    assertEquals(List.of("FIN 3"), driven.sent());
    assertEquals(0, driven.session.stats().closingStreams());
  }

  @Test
  void idOfAStreamThatIsOverCanBeUsedAgain() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    driven.receive(driven.fin(3));
    user.stream.close();
    driven.sent();
    TestStream next = accept(driven, 3);
    driven.receive(driven.psh(3, 5));
    assertEquals(5, next.received().length);
    assertEquals(0, user.received().length);
    assertNull(user.failure);
  }

  @Test
  void shutdownThatIsNotDoneBecomesAClose() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    user.write(300_000);
    user.stream.shutdownOutput();
    driven.sent();
    assertEquals(300_000 - 262_144, user.unsent());
    user.stream.close();
    assertEquals(List.of("FIN 3"), driven.sent());
    driven.receive(driven.upd(3, 262_144, 65_536));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.fin(3));
    driven.assertNothingHeld();
  }

  @Test
  void windowUpdatesOfAClosingStreamAreTaken() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    TestStream user = accept(driven, 3);
    user.write(1000);
    driven.sent();
    user.stream.close();
    driven.receive(driven.upd(3, 600, 65_536));
    assertEquals(400, driven.session.stats().unacknowledgedBytes());
    driven.sent();
    assertEquals(400, driven.session.stats().unacknowledgedBytes());
    driven.receive(driven.fin(3));
    driven.assertNothingHeld();
  }

  @Test
  void versionOneDiscardsToo() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().version(1), false);
    TestStream user = accept(driven, 3);
    user.stream.close();
    assertEquals(List.of("FIN 3"), driven.sent());
    driven.receive(driven.psh(3, 30_000));
    assertEquals(List.of(), driven.sent());
    assertEquals(30_000, driven.session.stats().discardedBytes());
    driven.receive(driven.fin(3));
    assertTrue(driven.session.stats().closingStreams() == 0);
  }
}
