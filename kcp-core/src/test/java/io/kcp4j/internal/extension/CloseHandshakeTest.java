package io.kcp4j.internal.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CloseReason;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.VirtualHost;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * {@link CloseHandshake}: close, half-close and abort of sessions whose peers have the extension.
 */
class CloseHandshakeTest {

  private static final int DELAY_US = 10_000;
  private static final int CLOSES = 1_000;

  private final VirtualHost client = new VirtualHost(1);
  private final VirtualHost server = new VirtualHost(2);
  private final List<EndReason> ends = new ArrayList<>();
  private CloseReason peerReason;

  /** Packets under way. */
  private List<ByteBuf> toServer = List.of();

  private List<ByteBuf> toClient = List.of();

  /** Decides which packets are lost; null for none. */
  private SplittableRandom loss;

  @BeforeEach
  void begin() {
    client.token = 0x1111_2222_3333_4444L;
    server.token = 0x5555_6666_7777_8888L;
    server.driver.onEnd =
        (session, reason) -> {
          ends.add(reason);
          peerReason = session.peerReason();
        };
    client.open(server);
    client.write(10);
    exchange(20);
    assertTrue(client.session.isExtensionEstablished() && server.session.isExtensionEstablished());
    assertEquals(10, server.received);
  }

  /** Lets the delay of one direction pass so often, and forwards what has been sent before. */
  private void exchange(int times) {
    for (int i = 0; i < times; i++) {
      client.runTo(client.nowUs + DELAY_US);
      server.runTo(server.nowUs + DELAY_US);
      List<ByteBuf> arrivesAtServer = toServer;
      List<ByteBuf> arrivesAtClient = toClient;
      toServer = new ArrayList<>(client.packets());
      toClient = new ArrayList<>(server.packets());
      server.take(client, arrivesAtServer);
      client.take(server, arrivesAtClient);
      toServer.addAll(client.packets());
      toClient.addAll(server.packets());
      if (loss != null) {
        toServer.removeIf(packet -> loss.nextInt(5) == 0);
        toClient.removeIf(packet -> loss.nextInt(5) == 0);
      }
    }
  }

  /** What has been sent is lost. */
  private void lose() {
    client.packets();
    server.packets();
  }

  @Test
  void peerLearnsOfACloseAtOnceAndTheSessionGoes() {
    assertTrue(client.finish());
    exchange(2);
    assertTrue(server.session.isInputFinished());
    assertTrue(server.session.hasPeerClosed());
    exchange(2);
    assertEquals(0, client.driver.table.size());
    assertEquals(1, client.driver.closed);
  }

  @Test
  void closeIsRepeatedUntilItIsAnswered() {
    client.finish();
    lose();
    exchange(30);
    assertTrue(server.session.isInputFinished());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void closeReachesThePeerSoonThoughAFifthOfThePacketsIsLost() {
    int rttUs = 2 * DELAY_US;
    int late = 0;
    for (int seed = 0; seed < CLOSES; seed++) {
      CloseHandshakeTest run = new CloseHandshakeTest();
      run.begin();
      run.loss = new SplittableRandom(seed);
      long startUs = run.client.nowUs;
      run.client.finish();
      while (!run.server.session.isInputFinished() && run.client.nowUs - startUs < 5L * rttUs) {
        run.exchange(1);
      }
      late += run.server.session.isInputFinished() ? 0 : 1;
    }
    assertTrue(late <= CLOSES / 100, late + " of " + CLOSES);
  }

  @Test
  void answerIsRepeatedForEachClose() {
    client.finish();
    server.take(client, client.packets());
    lose();
    exchange(30);
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void closingSessionGoesAfterThreeProbeTimeouts() {
    long timeoutUs = client.session.kcp().probeTimeoutUs();
    long startUs = client.nowUs;
    client.finish();
    int messages = 0;
    while (client.driver.table.size() > 0) {
      messages += client.packets().size();
      client.runTo(client.nowUs + 1_000);
    }
    assertEquals(9, messages); // Each has two copies.
    long lateUs = client.nowUs - startUs - 3 * timeoutUs;
    assertTrue(Math.abs(lateUs) <= 2_000, lateUs + " us");
    assertEquals(1, client.driver.closed);
  }

  @Test
  void inputEndsWhenAllBeforeTheCloseHasArrived() {
    client.write(3000);
    client.packets();
    client.finish();
    server.take(client, client.packets());
    assertFalse(server.session.isInputFinished());
    assertEquals(10, server.received);
    exchange(30);
    assertEquals(3010, server.received);
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void outputThatThePeerDoesNotTakeEndsTheSession() {
    server.driver.onProgress = session -> {};
    client.write(30_000);
    client.finish();
    exchange(60);
    assertEquals(0, client.driver.table.size());
    server.write(5000);
    server.runTo(server.nowUs + 40_000_000L);
    assertEquals(List.of(EndReason.USER_TIMEOUT), ends);
  }

  /** The reader pauses for longer than any timeout. */
  @Test
  void inputCanBeReadLongAfterThePeerHasGone() {
    server.driver.onProgress = session -> {};
    server.write(5000);
    client.write(30_000);
    client.finish();
    exchange(60);
    assertEquals(0, client.driver.table.size());
    server.runTo(server.nowUs + 600_000_000L);
    assertEquals(List.of(), ends);
    server.read(server.session);
    assertEquals(30_010, server.received);
    assertTrue(server.session.isInputFinished());
  }

  /** Has the client give up closing, with so many bytes of which the first segments arrive. */
  private void giveUpClosing(int arriving) {
    server.driver.onProgress = session -> {};
    client.write(10 * client.session.kcp().mssBytes());
    List<ByteBuf> packets = client.packets();
    server.take(client, packets.subList(0, arriving));
    lose();
    assertTrue(client.driver.table.giveUpClosing(client.session, false, client.nowUs));
    client.flush();
  }

  @Test
  void whatHasArrivedCanBeReadAfterAFailedClose() {
    giveUpClosing(4);
    exchange(4);
    assertEquals(0, client.driver.table.size());
    assertEquals(List.of(), ends);
    assertTrue(server.session.hasPeerClosed());
    assertTrue(server.session.isInputIncomplete());
    server.runTo(server.nowUs + 600_000_000L);
    assertEquals(List.of(), ends);
    assertFalse(server.session.isInputFinished());
    server.read(server.session);
    assertEquals(10 + 4 * client.session.kcp().mssBytes(), server.received);
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void failedCloseAfterAllHasArrivedIsAClose() {
    giveUpClosing(10);
    exchange(4);
    assertTrue(server.session.hasPeerClosed());
    assertFalse(server.session.isInputIncomplete());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void closeFailsIfMoreIsQueuedThanHasArrived() {
    server.driver.onProgress = session -> {};
    client.session.reconfigure(
        client.session.kcp().config().toBuilder().sendQueue(1024).build(), FecConfig.NONE);
    client.session.kcp().send(Unpooled.buffer().writeZero(1_000_000));
    client.flush();
    exchange(100);
    assertTrue(client.session.kcp().sendUna() == client.session.kcp().sendNext(), "window full");
    client.driver.table.giveUpClosing(client.session, false, client.nowUs);
    client.flush();
    exchange(4);
    assertTrue(server.session.isInputIncomplete());
  }

  @Test
  void closeFailsIfTheOwnerHasMoreThanHasArrived() {
    client.driver.table.giveUpClosing(client.session, true, client.nowUs);
    client.flush();
    exchange(4);
    assertTrue(server.session.isInputIncomplete());
    assertTrue(server.session.isInputFinished(), "what arrived was read");
  }

  @Test
  void closeThatFailsLaterReplacesTheCloseThatWasTold() {
    server.driver.onProgress = session -> {};
    client.write(10 * client.session.kcp().mssBytes());
    List<ByteBuf> first = client.packets();
    client.session.sendClose(client.nowUs);
    client.flush();
    server.take(client, first.subList(0, 4));
    server.take(client, client.packets());
    assertTrue(server.session.hasPeerClosed());
    assertFalse(server.session.isInputIncomplete());
    server.packets();
    assertTrue(client.driver.table.giveUpClosing(client.session, false, client.nowUs));
    client.flush();
    server.take(client, client.packets());
    assertTrue(server.session.isInputIncomplete());
  }

  @Test
  void peerThatDoesNotKnowFailedClosesIsAborted() {
    assertEquals(ExtensionMessage.CLOSE_FAILED, client.session.closeFailedType());
    VirtualHost other = new VirtualHost(3);
    other.token = 1;
    other.open(server);
    assertEquals(ExtensionMessage.RESET, other.session.closeFailedType(), "no parameters yet");
    assertEquals(ExtensionMessage.RESET, earlierPeer().closeFailedType());
  }

  /** The session of a client whose server has said its parameters, but no flag. */
  private Session earlierPeer() {
    VirtualHost other = new VirtualHost(4);
    other.token = 2;
    other.open(server);
    other.write(1);
    server.take(other, other.packets());
    server.runTo(server.nowUs + DELAY_US);
    List<ByteBuf> answers = server.packetsTo(other);
    for (ByteBuf answer : answers) {
      ByteBuf message = VirtualHost.message(answer);
      int item =
          ExtensionMessage.find(message, 0, message.readableBytes(), ExtensionMessage.PARAMETERS);
      message.setByte(item + 7, message.getByte(item + 7) & 0xf);
    }
    other.take(server, answers);
    assertTrue(other.session.isExtensionEstablished());
    return other.session;
  }

  @Test
  void inputThatIsIncompleteIsNotAwaitedForever() {
    client.write(3000);
    client.packets();
    client.finish();
    server.take(client, client.packets());
    client.packets();
    server.runTo(server.nowUs + 200_000_000L);
    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), ends);
  }

  @Test
  void finalNumberIsThatOfTheLastSegmentThoughTheMtuShrinksAfterTheEnd() {
    client.session.kcp().send(Unpooled.buffer().writeZero(2600));
    client.session.sendClose(client.nowUs);
    client.session.reconfigure(
        client.session.kcp().config().toBuilder().mtuBytes(500).build(), FecConfig.NONE);
    client.flush();
    exchange(6);
    assertEquals(2610, server.received);
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void eachDirectionEndsOnItsOwn() {
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    exchange(3);
    assertTrue(server.session.isInputFinished());
    assertFalse(server.session.hasPeerClosed());
    server.write(5000);
    exchange(6);
    assertEquals(5000, client.received);
    assertFalse(client.session.isInputFinished());
    server.session.shutdownOutput(server.nowUs);
    server.flush();
    exchange(3);
    assertTrue(client.session.isInputFinished());
    assertEquals(1, client.driver.table.size());
  }

  /** It may still read, so it has to answer probes. */
  @Test
  void peerThatDiesAfterAHalfCloseIsNoticed() {
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    exchange(4);
    assertTrue(server.session.isInputFinished());
    server.runTo(server.nowUs + 200_000_000L);
    assertEquals(List.of(EndReason.KEEP_ALIVE_TIMEOUT), ends);
  }

  @Test
  void closeAfterAHalfCloseIsTold() {
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    exchange(4);
    assertTrue(client.finish());
    exchange(4);
    assertTrue(server.session.hasPeerClosed());
    assertEquals(0, client.driver.table.size());
  }

  /** The peer's answer to what was said before arrives after {@code end}, whose copies are lost. */
  private void endBeforeTheAnswer(Runnable end) {
    server.take(client, client.packets().subList(0, 1));
    List<ByteBuf> answer = server.packets();
    end.run();
    client.flush();
    client.runTo(client.nowUs + DELAY_US);
    server.runTo(server.nowUs + DELAY_US);
    lose();
    client.take(server, answer);
  }

  @Test
  void answerToAHalfCloseDoesNotAnswerTheCloseAfterIt() {
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    endBeforeTheAnswer(client::finish);
    assertEquals(1, client.driver.table.size());
    assertFalse(server.session.hasPeerClosed());
    exchange(30);
    assertTrue(server.session.hasPeerClosed());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void answerToAHalfCloseDoesNotAnswerTheAbortAfterIt() {
    client.session.shutdownOutput(client.nowUs);
    client.flush();
    endBeforeTheAnswer(() -> client.abort(5));
    assertEquals(1, client.driver.table.size());
    assertEquals(List.of(), ends);
    exchange(30);
    assertEquals(List.of(EndReason.RESET), ends);
    assertEquals(new CloseReason(5, ""), peerReason);
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void answerToACloseDoesNotAnswerThatItHasFailed() {
    client.session.sendClose(client.nowUs);
    client.flush();
    endBeforeTheAnswer(() -> client.driver.table.giveUpClosing(client.session, true, client.nowUs));
    assertEquals(1, client.driver.table.size());
    assertFalse(server.session.isInputIncomplete());
    exchange(30);
    assertTrue(server.session.isInputIncomplete());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void peerThatHasClosedIsSentNothing() {
    server.write(500_000);
    exchange(4);
    client.finish();
    exchange(4);
    assertTrue(server.session.hasPeerClosed());
    toClient = List.of();
    assertTrue(server.finish());
    assertEquals(0, server.session.kcp().segmentsToSend());
    server.runTo(server.nowUs + 3L * server.session.kcp().probeTimeoutUs() + 2_000);
    assertEquals(List.of(), server.packets());
    assertEquals(0, server.driver.table.size());
  }

  @Test
  void lastAnswerIsRepeatedIfItIsLost() {
    client.session.kcp().send(Unpooled.buffer().writeZero(10));
    client.session.sendClose(client.nowUs);
    client.driver.table.scheduleFlush(client.session);
    exchange(2);
    assertTrue(server.session.isInputFinished());
    assertTrue(server.finish());
    server.packets();
    toClient = List.of();
    assertFalse(client.session.kcp().isDrained());
    exchange(30);
    assertTrue(client.session.kcp().isDrained());
    client.finish();
    assertEquals(0, client.driver.table.size(), "the close is answered");
    exchange(30);
    assertEquals(0, server.driver.table.size());
    assertEquals(List.of(), client.ends);
  }

  @Test
  void peerThatHasClosedIsSentNothingOfWhatWasInFlight() {
    server.write(100_000);
    lose();
    server.runTo(server.nowUs + 2_000_000);
    lose();
    client.finish();
    List<ByteBuf> close = client.packets();
    server.take(client, close);
    assertTrue(server.finish());
    server.packets();
    server.take(client, close);
    server.packets();
    server.runTo(server.nowUs + 1_000_000);
    assertEquals(List.of(), server.packets());
    assertEquals(0, server.driver.table.size());
  }

  @Test
  void bothSidesMayCloseAtOnce() {
    client.finish();
    server.finish();
    exchange(3);
    assertEquals(0, client.driver.table.size());
    assertEquals(0, server.driver.table.size());
    assertEquals(1, client.driver.closed);
    assertEquals(1, server.driver.closed);
  }

  @Test
  void abortEndsThePeersSessionWithACode() {
    client.write(3000);
    client.packets();
    assertTrue(client.abort(0x12345678));
    server.take(client, client.packets());
    assertEquals(List.of(EndReason.RESET), ends);
    assertEquals(new CloseReason(0x12345678, ""), peerReason);
    assertEquals(0, server.driver.table.size());
    client.take(server, server.packets());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void reasonOfACloseArrivesWithIt() {
    client.session.closeReason(new CloseReason(-2, "é"));
    client.finish();
    List<ByteBuf> close = client.packets();
    assertEquals(
        "4b01" + "030800" + "8888777766665555" + "050400" + "01000000" + "160600" + "feffffffc3a9",
        ByteBufUtil.hexDump(VirtualHost.message(close.get(0))));
    server.take(client, close);
    assertEquals(new CloseReason(-2, "é"), server.session.peerReason());
    client.take(server, server.packets());
    assertEquals(0, client.driver.table.size());
  }

  @Test
  void reasonIsKnownWhenEverythingBeforeHasArrived() {
    client.write(2_000);
    List<ByteBuf> data = client.packets();
    client.session.closeReason(new CloseReason(1, "done"));
    client.finish();
    server.take(client, client.packets());
    assertTrue(server.session.hasPeerClosed());
    assertNull(server.session.peerReason());
    server.take(client, data);
    assertEquals(new CloseReason(1, "done"), server.session.peerReason());
  }

  @Test
  void closeThatFailsHasNoReason() {
    client.write(2_000);
    client.packets();
    client.session.closeReason(new CloseReason(1, "done"));
    client.session.sendClose(client.nowUs);
    client.flush();
    server.take(client, client.packets());
    client.driver.table.giveUpClosing(client.session, false, client.nowUs);
    client.driver.table.flushPending(client.nowUs);
    server.take(client, client.packets());
    assertTrue(server.session.isInputIncomplete());
    assertNull(server.session.peerReason());
  }

  @Test
  void closeWithoutARoomForItsReasonIsToldAlone() {
    client.session.reconfigure(KcpConfig.builder().mtuBytes(177).build(), FecConfig.NONE);
    client.session.closeReason(new CloseReason(1, "x".repeat(64)));
    client.finish();
    server.take(client, client.packets());
    assertTrue(server.session.hasPeerClosed());
    assertNull(server.session.peerReason());
  }

  @Test
  void longestReasonHasRoomInASegmentOf154Bytes() {
    client.session.reconfigure(KcpConfig.builder().mtuBytes(178).build(), FecConfig.NONE);
    client.session.closeReason(new CloseReason(1, "x".repeat(64)));
    client.finish();
    server.take(client, client.packets());
    assertEquals(new CloseReason(1, "x".repeat(64)), server.session.peerReason());
  }

  @Test
  void reasonWithoutACloseIsIgnored() {
    String token = "4b01" + "030800" + "8888777766665555";
    server.take(client, List.of(wins(token + "160500" + "0100000041")));
    assertNull(server.session.peerReason());
    server.take(client, List.of(wins(token + "050400" + "01000000" + "160500" + "01000000ff")));
    assertEquals(new CloseReason(1, "?"), server.session.peerReason(), "no UTF-8");
  }

  @Test
  void reasonThatIsTooLongIsRefusedWithItsMessage() {
    String token = "4b01" + "030800" + "8888777766665555";
    String reason = "164500" + "01000000" + "41".repeat(65);
    server.take(client, List.of(wins(token + "050400" + "01000000" + reason)));
    assertFalse(server.session.hasPeerClosed());
    assertEquals(1, server.count(KcpCounter.EXTENSION_REFUSED));
  }

  @Test
  void closingSessionEndsWhenThePeerAborts() {
    client.finish();
    server.abort(1);
    client.take(server, server.packets());
    assertEquals(0, client.driver.table.size());
    assertEquals(1, client.driver.closed);
  }

  @Test
  void messageWithoutTheTokenEndsNothing() {
    String forged = "4b01" + "030800" + "1111111111111111" + "060400" + "00000000";
    server.take(client, List.of(wins(forged)));
    server.take(client, List.of(wins("4b01" + "060400" + "00000000")));
    server.take(client, List.of(wins("4b01" + "050400" + "01000000")));
    assertEquals(List.of(), ends);
    assertFalse(server.session.hasPeerClosed());
  }

  @Test
  void endBeforeWhatHasBeenReceivedIsRefused() {
    String token = "4b01" + "030800" + "8888777766665555";
    server.take(client, List.of(wins(token + "050400" + "00000000")));
    assertFalse(server.session.hasPeerClosed());
    assertEquals(1, server.count(KcpCounter.EXTENSION_REFUSED));
    server.take(client, List.of(wins(token + "050400" + "01000000")));
    assertTrue(server.session.isInputFinished());
  }

  @Test
  void sessionWithoutTheExtensionGoesAtOnce() {
    VirtualHost old = new VirtualHost(3);
    old.open(server);
    old.write(10);
    server.take(old, old.packets());
    server.packets();
    assertFalse(server.finish());
    assertFalse(old.finish());
    assertEquals(List.of(), server.packets());
    assertEquals(0, old.driver.table.size());
  }

  private static ByteBuf wins(String message) {
    ByteBuf out = Unpooled.buffer();
    int bytes = message.length() / 2;
    Segment.write(out, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 0, bytes);
    return out.writeBytes(ByteBufUtil.decodeHexDump(message));
  }

  @Test
  void peerOfAnIdleSessionIsTold() {
    TestDriver.configure(client.session, config -> config.idleTimeoutMs(1_000));
    client.driver.onEnd =
        (session, reason) -> {
          client.ends.add(reason);
          client.driver.table.closeGracefully(session, client.nowUs);
        };
    exchange(400);
    assertEquals(List.of(EndReason.IDLE_TIMEOUT), client.ends);
    assertTrue(server.session.hasPeerClosed());
    assertEquals(0, client.driver.table.size());
    assertEquals(1, client.driver.closed);
    assertEquals(1, client.count(KcpCounter.SESSIONS_CLOSED));
  }

  @Test
  void idleSessionThatIsClosedWithoutAWordLeavesTheTable() {
    TestDriver.configure(client.session, config -> config.idleTimeoutMs(1_000));
    exchange(400);
    assertEquals(List.of(EndReason.IDLE_TIMEOUT), client.ends);
    assertEquals(0, client.driver.table.size());
    assertFalse(server.session.hasPeerClosed());
  }
}
