package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.IllegalReferenceCountException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Message mode. The MTU leaves 100 bytes for a fragment. */
class KcpMessageTest {

  private static final KcpConfig CONFIG =
      KcpConfig.builder().delivery(Delivery.MESSAGE).mtuBytes(124).build();

  private final DrivenKcp driven = new DrivenKcp(CONFIG);

  private void assertMessage(ByteBuf expected) {
    ByteBuf message = driven.kcp.receive();
    assertEquals(expected, message);
    message.release();
  }

  @Test
  void messageIsSplitIntoFragmentsThatCountDown() {
    assertTrue(driven.kcp.send(bytes(201)));
    driven.kcp.afterSend(0, driven);
    List<SentSegment> sent = driven.sent();
    assertEquals(List.of(2, 1, 0), sent.stream().map(SentSegment::frg).toList());
    assertEquals(
        List.of(100, 100, 1), sent.stream().map(s -> s.payload().readableBytes()).toList());
  }

  @Test
  void messageThatFillsItsFragmentsHasNoEmptyFragment() {
    assertTrue(driven.kcp.send(bytes(200)));
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(1, 0), driven.sent().stream().map(SentSegment::frg).toList());
  }

  @Test
  void emptyMessageIsSentAsAnEmptySegment() {
    assertTrue(driven.kcp.send(Unpooled.EMPTY_BUFFER));
    driven.kcp.afterSend(0, driven);
    SentSegment sent = driven.sent().get(0);
    assertEquals(Segment.PUSH, sent.cmd());
    assertEquals(0, sent.payload().readableBytes());
    driven.peerUna = 1;
    driven.receiveBatch(driven.wins());
    driven.assertNothingHeld();
  }

  @Test
  void emptyMessageIsDelivered() {
    driven.receiveBatch(driven.push(1, bytes(3)), driven.push(0, Unpooled.EMPTY_BUFFER));
    assertMessage(Unpooled.EMPTY_BUFFER);
    assertMessage(bytes(3));
    driven.assertNothingHeld();
  }

  @Test
  void messageIsDeliveredWithItsLastFragment() {
    ByteBuf data = bytes(300);
    driven.receiveBatch(driven.fragment(0, 2, data.slice(0, 100)));
    driven.receiveBatch(driven.fragment(2, 0, data.slice(200, 100)));
    assertFalse(driven.kcp.isReceivable());
    assertNull(driven.kcp.receive());
    driven.receiveBatch(driven.fragment(1, 1, data.slice(100, 100)));
    assertTrue(driven.kcp.isReceivable());
    assertMessage(data);
    assertNull(driven.kcp.receive());
  }

  @Test
  void boundariesOfManyMessagesArePreserved() {
    for (int sn = 0; sn < 50; sn++) {
      driven.receiveBatch(driven.push(sn, bytes(sn)));
    }
    for (int sn = 0; sn < 50; sn++) {
      assertMessage(bytes(sn));
    }
    driven.assertNothingHeld();
  }

  @Test
  void incompleteMessageReducesTheAdvertisedWindow() {
    driven.receiveBatch(driven.fragment(0, 2, bytes(1)), driven.fragment(1, 1, bytes(1)));
    driven.runTo(20_000);
    assertEquals(254, driven.sent().get(0).wnd());
  }

  @Test
  void messageMayHave127FragmentsAndNoMore() {
    assertEquals(12_700, driven.kcp.maxMessageBytes());
    ByteBuf tooLarge = bytes(12_701);
    assertThrows(IllegalArgumentException.class, () -> driven.kcp.send(tooLarge));
    assertEquals(12_701, tooLarge.readableBytes());
    assertTrue(driven.kcp.send(bytes(12_700)));
  }

  @Test
  void messageMayHaveAsManyFragmentsAsTheLargestWindowAdvertised() {
    driven.peerWnd = 40;
    driven.receiveBatch(driven.wins());
    assertEquals(4000, driven.kcp.maxMessageBytes());
    driven.peerWnd = 50;
    driven.receiveBatch(driven.wins());
    assertEquals(5000, driven.kcp.maxMessageBytes());
    assertThrows(IllegalArgumentException.class, () -> driven.kcp.send(bytes(5001)));
    assertTrue(driven.kcp.send(bytes(5000)));
    driven.kcp.afterSend(0, driven);
    driven.peerUna = 1;
    driven.peerWnd = 1;
    driven.receiveBatch(driven.wins());
    assertEquals(5000, driven.kcp.maxMessageBytes(), "by the largest window, not the last");
  }

  @Test
  void messageMayHave32FragmentsHoweverSmallTheAdvertisedWindow() {
    driven.peerWnd = 5;
    driven.receiveBatch(driven.wins());
    assertEquals(3200, driven.kcp.maxMessageBytes());
    driven.peerWnd = 33;
    driven.receiveBatch(driven.wins());
    assertEquals(3300, driven.kcp.maxMessageBytes());
  }

  @Test
  void fragmentNumberAtTheLimitIsRefusedAndTheOneBelowIsAccepted() {
    driven.receiveBatch(driven.fragment(0, 127, bytes(1)), driven.fragment(0, 255, bytes(1)));
    assertEquals(2, driven.count(KcpCounter.FRAGMENT_REFUSED));
    driven.runTo(100_000);
    assertEquals(List.of(), driven.sent());
    driven.receiveBatch(driven.fragment(0, 126, bytes(1)));
    assertEquals(2, driven.count(KcpCounter.FRAGMENT_REFUSED));
    assertNull(driven.kcp.failure());
  }

  @Test
  void fragmentInAStreamIsCountedAndAccepted() {
    DrivenKcp stream = new DrivenKcp(CONFIG.toBuilder().delivery(Delivery.STREAM).build());
    stream.receiveBatch(stream.fragment(0, 1, bytes(3)), stream.fragment(1, 0, bytes(2)));
    assertEquals(1, stream.count(KcpCounter.FRAGMENT_IN_STREAM));
    assertEquals(0, stream.count(KcpCounter.FRAGMENT_REFUSED));
    ByteBuf read = stream.kcp.receive();
    assertEquals(5, read.readableBytes());
    read.release();
    driven.receiveBatch(driven.fragment(0, 1, bytes(1)), driven.fragment(1, 0, bytes(1)));
    assertEquals(0, driven.count(KcpCounter.FRAGMENT_IN_STREAM));
  }

  @Test
  void messageOfMoreFragmentsThanTheWindowIsRefused() {
    DrivenKcp narrow = new DrivenKcp(CONFIG.toBuilder().receiveWindow(4).build());
    narrow.receiveBatch(narrow.fragment(0, 4, bytes(1)));
    assertEquals(1, narrow.count(KcpCounter.FRAGMENT_REFUSED));
    for (int sn = 0; sn < 4; sn++) {
      narrow.receiveBatch(narrow.fragment(sn, 3 - sn, bytes(1)));
    }
    assertEquals(4, narrow.receiveAll().readableBytes());
  }

  @Test
  void fragmentsThatDoNotCountDownEndTheSession() {
    driven.receiveBatch(driven.fragment(0, 2, bytes(1)));
    assertNull(driven.kcp.failure());
    driven.receiveBatch(driven.fragment(1, 0, bytes(1)));
    assertEquals(EndReason.PROTOCOL_VIOLATION, driven.kcp.failure());
    assertEquals(Time.NO_DEADLINE, driven.kcp.nextDeadline());
    driven.kcp.close();
    driven.assertNothingHeld();
  }

  @Test
  void fragmentsBeyondAGapAreCheckedWhenTheGapCloses() {
    driven.receiveBatch(driven.fragment(1, 5, bytes(1)), driven.fragment(2, 5, bytes(1)));
    assertNull(driven.kcp.failure());
    driven.receiveBatch(driven.fragment(0, 0, bytes(1)));
    assertEquals(EndReason.PROTOCOL_VIOLATION, driven.kcp.failure());
  }

  @Test
  void messageIsQueuedWholeOrNotAtAll() {
    DrivenKcp small = new DrivenKcp(CONFIG.toBuilder().sendQueue(2).sendWindow(1).build());
    assertTrue(small.kcp.send(bytes(150)));
    ByteBuf second = bytes(150);
    assertFalse(small.kcp.send(second));
    assertEquals(150, second.readableBytes());
    small.kcp.afterSend(0, small);
    assertTrue(small.kcp.send(second));
    assertEquals(3, small.kcp.stats().queued());
  }

  @Test
  void messageThatCannotBeReadCompletelyIsNotQueuedInPart() {
    ByteBuf end = bytes(100);
    ByteBuf message = Unpooled.wrappedBuffer(bytes(150), end);
    end.release();
    assertThrows(IllegalReferenceCountException.class, () -> driven.kcp.send(message));
    assertEquals(0, driven.kcp.stats().queued());
    assertEquals(0, message.readerIndex());
    driven.assertNothingHeld();
  }

  @Test
  void reconfigurationCannotLowerTheFragmentLimit() {
    DrivenKcp driven =
        new DrivenKcp(KcpConfig.builder().delivery(Delivery.MESSAGE).maxFragments(10));
    Kcp kcp = driven.kcp;
    kcp.reconfigure(kcp.config().toBuilder().receiveWindow(10).build());
    assertThrows(
        IllegalArgumentException.class,
        () -> kcp.reconfigure(kcp.config().toBuilder().receiveWindow(9).build()));
    assertThrows(
        IllegalArgumentException.class,
        () -> kcp.reconfigure(kcp.config().toBuilder().maxFragments(9).build()));
    assertEquals(10, kcp.config().receiveWindow());
  }
}
