package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.internal.send.BlackHoleDetector;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * {@link BlackHoleDetector.LargeDatagrams}: which segments the session knows to have left only in
 * large ones.
 */
class LargeDatagramsTest {

  private static final int SMALL_BYTES = 1_200;
  private static final int TIMEOUT_US = 1_000_000;

  private final DrivenKcp driven =
      new DrivenKcp(
          DrivenKcp.counting().delivery(Delivery.MESSAGE).mtuBytes(1_400).sendWindow(128));

  private void send(int... messageBytes) {
    for (int bytes : messageBytes) {
      assertTrue(driven.kcp.send(bytes(bytes)));
    }
    driven.kcp.afterSend(driven.nowUs, driven);
  }

  private List<Integer> sentBytes() {
    return driven.sentDatagrams().stream().map(ByteBuf::readableBytes).toList();
  }

  private boolean isOnlyInLarge(int sn) {
    return driven.kcp.sender.losses.ring.isInLargeDatagrams(driven.kcp.sender.buffer.index(sn));
  }

  @ParameterizedTest
  @ValueSource(ints = {SMALL_BYTES, SMALL_BYTES + 1})
  void largeDatagramIsOneThatNotEveryPathTakes(int datagramBytes) {
    send(500, datagramBytes - 500 - 2 * Segment.HEADER_BYTES);
    assertEquals(List.of(datagramBytes), sentBytes());
    assertEquals(datagramBytes > SMALL_BYTES, isOnlyInLarge(0));
    assertEquals(datagramBytes > SMALL_BYTES, isOnlyInLarge(1));
  }

  @Test
  void segmentThatHasLeftInASmallDatagramStaysOneThatHas() {
    driven.acknowledged();
    send(600);
    send(600);
    sentBytes();
    driven.runTo(TIMEOUT_US);
    assertTrue(sentBytes().contains(2 * (600 + Segment.HEADER_BYTES)), "sent again in one");
    assertFalse(isOnlyInLarge(0));
    assertFalse(isOnlyInLarge(1));
  }

  @Test
  void segmentThatIsSentAgainAloneHasLeftInASmallDatagram() {
    send(600, 601);
    assertTrue(isOnlyInLarge(0) && isOnlyInLarge(1));
    sentBytes();
    driven.receiveBatch(driven.ack(0, DrivenKcp.TS_ORIGIN));
    driven.runTo(TIMEOUT_US);
    assertTrue(sentBytes().contains(601 + Segment.HEADER_BYTES));
    assertFalse(isOnlyInLarge(1));
  }

  /** Each flush leaves a datagram behind that was not ended. */
  @Test
  void flushesThatFailLeaveNothingBehind() {
    DatagramOutput failing =
        new DatagramOutput() {
          @Override
          public ByteBuf begin(int maxBytes) {
            throw new OutOfMemoryError("simulated");
          }

          @Override
          public void end() {}
        };
    driven.receiveBatch(driven.wins()); // It opens the window.
    for (int i = 0; i < 100; i++) {
      assertTrue(driven.kcp.send(bytes(10)));
    }
    int failures = 0;
    for (int i = 0; i < 200; i++) {
      driven.nowUs += 1_000;
      try {
        driven.kcp.afterSend(driven.nowUs, failing);
      } catch (OutOfMemoryError e) {
        failures++;
      }
      if (driven.kcp.sender.buffer.queued() < 50) {
        driven.peerUna = driven.kcp.sender.buffer.next();
        driven.receiveBatch(driven.wins());
        while (driven.kcp.sender.buffer.queued() < 100) {
          assertTrue(driven.kcp.send(bytes(10)));
        }
      }
    }
    assertTrue(failures > 100, "failures " + failures);
    send(1);
    assertFalse(sentBytes().isEmpty());
  }
}
