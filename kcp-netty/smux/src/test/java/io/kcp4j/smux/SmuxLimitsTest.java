package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;

/** What a peer can use, and how much it can make us send. */
class SmuxLimitsTest {

  @Test
  void streamsBeyondTheLimitAreRefused() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxStreams(3), false);
    driven.open();
    driven.receive(driven.syn(3), driven.syn(5), driven.syn(7));
    assertEquals(2, driven.accepted.size());
    assertEquals(3, driven.session.openStreams());
    assertEquals(1, driven.session.stats().refusedStreams());
    assertEquals(List.of("SYN 2", "FIN 7"), driven.sent());
    assertThrows(SmuxException.class, driven::open);
    driven.receive(driven.fin(3));
    driven.accepted.get(0).stream.close();
    assertEquals(List.of("FIN 3"), driven.sent());
    driven.receive(driven.syn(9));
    assertEquals(3, driven.accepted.size());
  }

  @Test
  void writerOfARefusedStreamIsAskedToStop() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxStreams(1), false);
    driven.receive(driven.syn(3), driven.syn(5), driven.psh(5, 60_000));
    assertEquals(
        List.of("UPD 5 60000 65536", "FIN 5", "UPD 5 " + (60_000 + (1 << 30)) + " 0"),
        driven.sent());
    driven.receive(driven.psh(5, 60_000));
    assertEquals(List.of(), driven.sent());
  }

  @Test
  void newStreamsAreLimitedPerSecond() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxNewStreamsPerSecond(10), false);
    int id = 3;
    for (int i = 0; i < 20; i++, id += 2) {
      driven.receive(driven.syn(id));
    }
    assertEquals(10, driven.accepted.size());
    driven.nowMs += 99;
    driven.receive(driven.syn(id));
    assertEquals(10, driven.accepted.size());
    driven.nowMs += 1;
    driven.receive(driven.syn(id + 2), driven.syn(id + 4));
    assertEquals(11, driven.accepted.size());
    driven.nowMs += 1000;
    for (int i = 0; i < 20; i++) {
      driven.receive(driven.syn(id + 6 + 2 * i));
    }
    assertEquals(21, driven.accepted.size());
    assertEquals(10 + 1 + 1 + 10, driven.session.stats().refusedStreams());
  }

  @Test
  void streamThatExistsIsNotOpenedAgain() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3), driven.psh(3, 5), driven.syn(3), driven.psh(3, 5));
    assertEquals(1, driven.accepted.size());
    assertEquals(10, driven.accepted.get(0).received().length);
    assertEquals(1, driven.session.stats().violations());
    driven.accepted.get(0).stream.close();
    driven.receive(driven.syn(3));
    assertEquals(1, driven.accepted.size(), "still closing");
    assertEquals(2, driven.session.stats().violations());
  }

  @Test
  void floodOfNewStreamsLeavesABoundedNumberOfReplies() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxStreams(10), false);
    driven.isRefusing = true;
    for (int id = 3; id < 20_003; id += 2) {
      driven.receive(driven.syn(id), driven.psh(id, 10));
    }
    assertEquals(10, driven.session.stats().closingStreams());
    assertEquals(10_000, driven.session.stats().refusedStreams());
    assertEquals(20, driven.sent().size(), "UPD and FIN of each");
    driven.assertNothingHeld();
  }

  @Test
  void streamsThatAreClosedAtOnceAreBoundedWhileNothingLeaves() throws SmuxException {
    DrivenSmux driven =
        new DrivenSmux(DrivenSmux.config().maxStreams(10).maxNewStreamsPerSecond(1_000_000), false);
    for (int id = 3; id < 2_003; id += 2) {
      driven.receive(driven.syn(id));
      driven.accepted.forEach(user -> user.stream.close());
    }
    assertEquals(10, driven.accepted.size());
    assertEquals(10, driven.session.stats().closingStreams());
    assertThrows(SmuxException.class, driven::open);
    driven.sent();
    driven.open();
    driven.receive(driven.syn(9_999));
    assertEquals(11, driven.accepted.size(), "the oldest is given up");
  }

  @Test
  void peerThatNeverSendsFinDoesNotBlockNewStreams() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxStreams(10), true);
    for (int i = 0; i < 1000; i++) {
      driven.open().stream.close();
      assertEquals(i < 10 ? 2 : 3, driven.sent().size(), "SYN, FIN, and a stop of another stream");
    }
    assertTrue(driven.session.stats().closingStreams() <= 10);
  }

  @Test
  void floodOfKeepAliveAndUpdatesCausesNoReplies() throws SmuxException {
    DrivenSmux driven = DrivenSmux.server();
    driven.receive(driven.syn(3));
    for (int i = 0; i < 10_000; i++) {
      driven.receive(driven.nop(), driven.upd(3, 0, i), driven.fin(99), driven.psh(3, 0));
    }
    assertFalse(driven.session.hasFrame());
    driven.receive(driven.psh(3, 1));
    driven.sent();
    for (int i = 0; i < 6; i++) {
      driven.receive(driven.psh(3, 40_000));
    }
    assertEquals(1, driven.sent().size(), "one update, however many were due");
  }

  @Test
  void refusedStreamsDoNotReplaceThoseThatWaitForTheirFin() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().maxStreams(2), false);
    driven.receive(driven.syn(3));
    driven.accepted.get(0).stream.close();
    driven.open();
    driven.open();
    driven.sent();
    for (int id = 5; id < 100; id += 2) {
      driven.receive(driven.syn(id));
    }
    driven.sent();
    driven.receive(driven.psh(3, 60_000));
    assertEquals(List.of("UPD 3 " + (60_000 + (1 << 30)) + " 0"), driven.sent());
  }
}
