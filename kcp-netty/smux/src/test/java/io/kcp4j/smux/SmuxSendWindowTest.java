package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How much a session sends: the windows of streams and the budget of the session. */
class SmuxSendWindowTest {

  private static final int INITIAL = 262_144;
  private static final int BUFFER = 4 << 20;

  @Test
  void firstWindowIsThatWhichGoAssumes() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    assertEquals(INITIAL, user.stream.sendableBytes());
    user.write(INITIAL + 1);
    assertEquals(INITIAL, driven.sentBytes(user.stream));
    assertEquals(0, user.stream.sendableBytes());
    driven.receive(driven.upd(3, INITIAL, 10));
    assertEquals(List.of("PSH 3 1"), driven.sent());
    assertEquals(9, user.stream.sendableBytes());
  }

  @Test
  void windowCountsFromWhatIsConsumed() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(1000);
    driven.sent();
    driven.receive(driven.upd(3, 400, 1600));
    assertEquals(1000, user.stream.sendableBytes());
    user.write(2000);
    assertEquals(List.of("PSH 3 1000"), driven.sent());
    driven.receive(driven.upd(3, 400, 1601));
    assertEquals(List.of("PSH 3 1"), driven.sent());
    driven.receive(driven.upd(3, 2001, 0));
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.upd(3, 2001, 5000));
    assertEquals(List.of("PSH 3 999"), driven.sent());
  }

  @Test
  void windowThatShrinksBelowWhatIsOutstandingSendsNothing() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(5000);
    driven.sent();
    driven.receive(driven.upd(3, 1, 100));
    assertEquals(0, user.stream.sendableBytes());
    user.write(100);
    assertEquals(List.of(), driven.sent());
    driven.receive(driven.upd(3, 5000, 100));
    assertEquals(List.of("PSH 3 100"), driven.sent());
  }

  @Test
  void falseWindowUpdatesAreRefused() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(1000);
    driven.sent();
    driven.receive(driven.upd(3, 1001, 10));
    driven.receive(driven.upd(3, 1000, -1));
    driven.receive(driven.upd(3, Integer.MAX_VALUE, 10));
    assertEquals(3, driven.session.stats().violations());
    assertEquals(1000, driven.session.stats().unacknowledgedBytes());
    driven.receive(driven.upd(3, 1000, 10));
    assertEquals(3, driven.session.stats().violations());
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    assertEquals(10, user.stream.sendableBytes());
  }

  @Test
  void windowUpdateThatComesLateChangesNothing() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(1000);
    driven.sent();
    driven.receive(driven.upd(3, 800, 500), driven.upd(3, 700, 9999));
    assertEquals(300, user.stream.sendableBytes());
    assertEquals(200, driven.session.stats().unacknowledgedBytes());
    assertEquals(0, driven.session.stats().violations());
  }

  @Test
  void totalsWrap() {
    SendWindow window = new SendWindow();
    assertEquals(0, window.update(0, Integer.MAX_VALUE));
    int sent = 0;
    for (int i = 0; i < 10; i++) {
      window.sent(1_000_000_000);
      sent += 1_000_000_000;
      assertEquals(1_000_000_000, window.outstanding());
      assertEquals(-1, window.update(sent + 1, 5));
      assertEquals(1_000_000_000, window.update(sent, Integer.MAX_VALUE));
    }
    assertEquals(Integer.MAX_VALUE, window.available());
  }

  @Test
  void versionOneHasNoWindow() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().version(1), true);
    TestStream user = driven.open();
    assertEquals(Integer.MAX_VALUE, user.stream.sendableBytes());
    user.write(3 * BUFFER);
    assertEquals(3 * BUFFER, driven.sentBytes(user.stream));
  }

  /** Always has more to send. */
  private static final class SaturatedStream extends TestStream {

    int sent;

    @Override
    public boolean isEmpty() {
      return false;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      sent += maxBytes;
      return Unpooled.wrappedBuffer(new byte[maxBytes]);
    }
  }

  /** Opens streams of which the peer reads nothing, each with more to send than its window. */
  private static List<SaturatedStream> unread(DrivenSmux driven, int streams) throws SmuxException {
    List<SaturatedStream> users = new ArrayList<>();
    for (int i = 0; i < streams; i++) {
      SaturatedStream user = new SaturatedStream();
      user.stream = driven.session.open(user, user);
      users.add(user);
    }
    return users;
  }

  @ParameterizedTest
  @ValueSource(ints = {16, 17, 64, 1024})
  void unreadStreamsNeverFillThePeersBuffer(int streams) throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    unread(driven, streams);
    driven.sent();
    long unacknowledged = driven.session.stats().unacknowledgedBytes();
    assertTrue(unacknowledged < BUFFER, unacknowledged + " bytes");
    assertTrue(unacknowledged > BUFFER / 2, unacknowledged + " bytes");
  }

  @Test
  void unreadStreamsThatCloseKeepTheirPartUntilThePeersFin() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    for (int round = 0; round < 3; round++) {
      for (TestStream user : unread(driven, 1000)) {
        driven.sent();
        user.stream.close();
      }
    }
    driven.sent();
    assertTrue(driven.session.stats().unacknowledgedBytes() < BUFFER);
    driven.runFor(SmuxConfig.DEFAULT.closeTimeoutMs() + 10_000);
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    assertEquals(0, driven.session.stats().closingStreams());
  }

  @Test
  void streamThatIsReadGoesOnBesideUnreadOnes() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    unread(driven, 64);
    driven.sent();
    TestStream user = driven.open();
    user.write(1_000_000);
    GoStreamReader reader = new GoStreamReader(65_536);
    for (int round = 0; user.unsent() > 0; round++) {
      assertTrue(round < 100, user.unsent() + " bytes unsent");
      reader.read(driven, user.stream.id(), driven.sentBytes(user.stream));
    }
  }

  /** The receiving side of a stream as in Go: reports the first read, and each half window. */
  private static final class GoStreamReader {

    private final int window;
    private int read;
    private int unreported;
    private boolean hasReported;

    GoStreamReader(int window) {
      this.window = window;
    }

    void read(DrivenSmux driven, int id, int bytes) throws SmuxException {
      for (int left = bytes; left > 0; ) {
        int part = Math.min(left, 4096);
        left -= part;
        read += part;
        unreported += part;
        if (unreported >= window / 2 || !hasReported) {
          hasReported = true;
          unreported = 0;
          driven.receive(driven.upd(id, read, window));
        }
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"65536, 600", "2097152, 40"})
  void idleStreamsWhosePeerHasNotReportedTheRestBlockNobody(int window, int streams)
      throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    for (int i = 0; i < streams; i++) {
      TestStream user = driven.open();
      GoStreamReader reader = new GoStreamReader(window);
      int all = window / 2 + 4000;
      user.write(all);
      for (int sent = 0; sent < all; ) {
        int bytes = driven.sentBytes(user.stream);
        assertTrue(bytes > 0, "stream " + i + " is blocked after " + sent);
        reader.read(driven, user.stream.id(), bytes);
        sent += bytes;
      }
    }
  }

  @Test
  void streamAloneGetsTwoThirdsOfTheBudgetFromAPeerThatReportsEarly() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().peerReceiveBuffer(1_500_000), true);
    SaturatedStream user = unread(driven, 1).get(0);
    driven.sent();
    driven.receive(driven.upd(3, user.sent - 1, 1_000_000), driven.upd(3, user.sent, 1_000_000));
    driven.sent();
    int twoThirds = 1_500_000 / 4 * 3 / 3 * 2;
    long outstanding = driven.session.stats().unacknowledgedBytes();
    assertTrue(Math.abs(outstanding - twoThirds) < 1000, outstanding + " bytes");
  }

  @Test
  void manyStreamsLeaveAPartToAnotherIfThePeerReportsEarly() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    List<SaturatedStream> users = unread(driven, 20);
    for (int round = 0; round < 4; round++) {
      driven.sent();
      for (SaturatedStream user : users) {
        ByteBuf update = driven.upd(user.stream.id(), user.sent, BUFFER / 2);
        driven.receive(update.copy(), update); // Go repeats none.
      }
    }
    driven.sent();
    int part = BUFFER / 4 * 3 / 41;
    for (SaturatedStream user : users) {
      assertEquals(0, user.stream.sendableBytes());
    }
    int left = driven.open().stream.sendableBytes();
    assertTrue(left > part / 2, left + " bytes");
    long outstanding = driven.session.stats().unacknowledgedBytes();
    assertTrue(outstanding > BUFFER / 4 * 3 - 2 * part, outstanding + " bytes");
  }

  @Test
  void peerThatReportsHalfAWindowDoesNotReportEarly() {
    SendWindow window = new SendWindow();
    window.sent(200_000);
    assertFalse(window.isEarly(1, 65_536), "the first read");
    window.update(1, 65_536);
    assertFalse(window.isEarly(1 + 32_768, 65_536));
    assertTrue(window.isEarly(1 + 32_767, 65_536));
    assertTrue(window.isEarly(1, 65_536), "repeated");
    assertFalse(window.isEarly(0, 65_536), "late");
    assertFalse(window.isEarly(200_001, 1_000_000), "false");
  }

  @Test
  void streamThatBothSidesHaveEndedGivesItsPartBack() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(5000);
    user.stream.shutdownOutput();
    driven.sent();
    assertEquals(5000, driven.session.stats().unacknowledgedBytes());
    driven.receive(driven.fin(3));
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    driven.receive(driven.upd(3, 5000, 65_536));
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    assertEquals(0, driven.session.stats().violations());
  }

  @Test
  void partOfAStreamComesBackWhileItsInputIsUnread() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.isReading = false;
    user.write(5000);
    user.stream.shutdownOutput();
    driven.sent();
    driven.receive(driven.psh(3, 10), driven.fin(3), driven.upd(3, 2500, 65_536));
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    assertEquals(0, driven.session.stats().violations(), "the update was late");
    assertEquals(10, user.readAll());
    driven.assertNothingHeld();
  }

  @Test
  void streamsThatWaitForTheBudgetGoOnInTurnWhenThereIsRoom() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().peerReceiveBuffer(400_000), true);
    List<SaturatedStream> users = unread(driven, 4);
    driven.sent();
    long before = driven.session.stats().unacknowledgedBytes();
    assertTrue(before < 400_000 && before >= 299_000, before + " bytes");
    int frames = driven.frameReadyCalls;
    SaturatedStream first = users.get(0);
    driven.receive(driven.upd(first.stream.id(), first.sent, 0));
    assertEquals(frames + 1, driven.frameReadyCalls);
    List<String> sent = driven.sent();
    for (SaturatedStream user : users.subList(1, 4)) {
      String prefix = "PSH " + user.stream.id() + " ";
      assertTrue(sent.stream().anyMatch(frame -> frame.startsWith(prefix)), sent.toString());
    }
    assertTrue(driven.session.stats().unacknowledgedBytes() < 400_000);
  }

  @Test
  void streamThatWaitsForTheBudgetMayCloseOrFail() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().peerReceiveBuffer(10_000), true);
    List<SaturatedStream> users = unread(driven, 4);
    driven.sent();
    users.get(1).stream.close();
    assertEquals(List.of("FIN 5"), driven.sent());
    driven.receive(driven.fin(5));
    driven.sent();
    users.get(2).stream.shutdownOutput();
    driven.session.fail(new Exception("end"));
    assertEquals(0, driven.session.stats().unacknowledgedBytes());
    assertNull(driven.next());
  }

  @Test
  void smallestBudgetLetsEveryStreamGoOn() throws SmuxException {
    DrivenSmux driven = new DrivenSmux(DrivenSmux.config().peerReceiveBuffer(1), true);
    TestStream user = driven.open();
    user.write(100);
    GoStreamReader reader = new GoStreamReader(64);
    for (int round = 0; user.unsent() > 0; round++) {
      assertTrue(round < 100);
      reader.read(driven, 3, driven.sentBytes(user.stream));
    }
  }

  @Test
  void writerFailsWhenThePeerHasEndedTheStreamAndReadsNoMore() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(300_000);
    driven.sent();
    driven.receive(driven.fin(3));
    assertTrue(user.stream.isInputEnded());
    driven.runFor(29_000);
    assertNull(user.failure);
    driven.runFor(10_000);
    assertTrue(user.failure instanceof SmuxException, "" + user.failure);
    assertTrue(user.stream.isClosed());
    assertTrue(driven.sent().contains("FIN 3"));
    assertEquals(1, driven.session.stats().cutStreams());
    assertEquals(0, driven.session.openStreams());
    driven.assertNothingHeld();
  }

  @Test
  void writerGoesOnAsLongAsThePeerReadsAfterItsFin() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.write(1_000_000);
    int sent = driven.sentBytes(user.stream);
    driven.receive(driven.fin(3));
    for (int consumed = 40_000; user.unsent() > 0; consumed += 40_000) {
      driven.runFor(20_000);
      assertNull(user.failure);
      driven.receive(driven.upd(3, consumed, 65_536));
      sent += driven.sentBytes(user.stream);
    }
    assertEquals(1_000_000, sent);
    driven.runFor(20_000);
    driven.runFor(20_000);
    assertNull(user.failure, "everything was sent");
  }

  @Test
  void writerOfAStreamWhoseInputIsUnreadDoesNotFail() throws SmuxException {
    DrivenSmux driven = DrivenSmux.client();
    TestStream user = driven.open();
    user.isReading = false;
    user.write(300_000);
    driven.sent();
    driven.receive(driven.psh(3, 10), driven.fin(3));
    for (int i = 0; i < 4; i++) {
      driven.runFor(20_000);
    }
    assertNull(user.failure);
    assertEquals(10, user.readAll());
    for (int i = 0; i < 3; i++) {
      driven.runFor(20_000);
    }
    assertTrue(user.failure instanceof SmuxException);
  }
}
