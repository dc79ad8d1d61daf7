package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.LossDetection;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.internal.wire.SegmentSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.ByteBuffer;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Flushes that the output splits into several datagrams. Segments have up to 1176 bytes. */
class FlushSplitterTest {

  private DrivenKcp driven = new DrivenKcp(config());

  FlushSplitterTest() {
    openWindow();
  }

  /** Without copies of retransmissions, and with acknowledgements that wait. */
  private static KcpConfig.Builder config() {
    return KcpConfig.builder()
        .sendWindow(64)
        .lossDetection(LossDetection.FAST_RETRANSMIT)
        .congestionControl(CongestionControl.NONE);
  }

  private static KcpConfig.Builder messages() {
    return config().delivery(Delivery.MESSAGE);
  }

  private void use(KcpConfig.Builder config) {
    driven = new DrivenKcp(config);
    openWindow();
  }

  private void openWindow() {
    driven.receiveBatch(driven.wins());
    driven.splitInto = 4;
  }

  private void send(int bytes) {
    assertTrue(driven.kcp.send(bytes(bytes)));
    driven.kcp.afterSend(driven.nowUs, driven);
  }

  private void sendMessages(int count, int bytes) {
    for (int i = 0; i < count; i++) {
      assertTrue(driven.kcp.send(bytes(bytes)));
    }
    driven.kcp.afterSend(driven.nowUs, driven);
  }

  /** The sizes of the datagrams since the last call. */
  private List<Integer> sizes() {
    return driven.sentDatagrams().stream().map(ByteBuf::readableBytes).toList();
  }

  // Stream mode

  @Test
  void streamIsReSegmentedIntoEqualDatagrams() {
    send(1250);
    assertEquals(List.of(List.of(0, 1250, 1176, 64)), driven.splitQuestions);
    assertEquals(List.of(337, 337, 337, 335), sizes());
  }

  @Test
  void bytesStayInOrderWhateverTheSplit() {
    for (int bytes = 1; bytes < 16 * 1176; bytes += 671) {
      for (driven.splitInto = bytes / 1176 + 1; driven.splitInto <= 20; driven.splitInto += 3) {
        send(bytes);
        List<ByteBuf> datagrams = driven.sentDatagrams();
        assertTrue(datagrams.size() <= driven.splitInto, "datagrams: " + datagrams.size());
        ByteBuf payload = Unpooled.buffer();
        for (ByteBuf datagram : datagrams) {
          for (SentSegment segment : SentSegment.in(datagram)) {
            payload.writeBytes(segment.payload());
            driven.peerUna = segment.sn() + 1;
          }
        }
        assertEquals(bytes(bytes), payload, bytes + " into " + driven.splitInto);
        driven.receiveBatch(driven.wins());
      }
    }
    driven.assertNothingHeld();
  }

  @Test
  void segmentsOfSeveralWritesAreEvenedOut() {
    assertTrue(driven.kcp.send(bytes(1176)));
    assertTrue(driven.kcp.send(bytes(600)));
    driven.splitInto = 2;
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(912, 912), sizes());
  }

  @Test
  void nothingIsSplitUnlessTheOutputAsksForIt() {
    driven.splitInto = 0;
    send(1150);
    assertEquals(List.of(1174), sizes());
    assertEquals(1, driven.splitQuestions.size());
  }

  // Message mode

  @Test
  void messagesAreSpreadOverTheDatagrams() {
    use(messages());
    sendMessages(25, 50);
    assertEquals(List.of(List.of(0, 25 * 74, 1200, 64)), driven.splitQuestions);
    assertEquals(List.of(7 * 74, 7 * 74, 7 * 74, 4 * 74), sizes());
  }

  @Test
  void largeMessageHasADatagramOfItsOwn() {
    use(messages());
    assertTrue(driven.kcp.send(bytes(1000)));
    sendMessages(8, 50);
    assertEquals(List.of(1024, 6 * 74, 2 * 74), sizes());
  }

  @Test
  void datagramsStayWithinTheMtu() {
    use(messages());
    sendMessages(7, 750);
    assertEquals(List.of(774, 774, 774, 774, 774, 774, 774), sizes());
  }

  // Which flushes are split

  @Test
  void flushThatFillsTheWindowIsNotSplit() {
    use(config().sendWindow(8));
    driven.sendSegments(8);
    assertEquals(List.of(), driven.splitQuestions);
    assertEquals(8, sizes().size());
    use(config().sendWindow(8));
    driven.sendSegments(7);
    assertEquals(List.of(List.of(0, 7 * 1176, 1176, 8)), driven.splitQuestions);
  }

  @Test
  void segmentsInFlightCountForTheWindow() {
    use(config().sendWindow(8));
    driven.splitInto = 0;
    driven.sendSegments(4);
    driven.splitQuestions.clear();
    driven.sendSegments(3);
    assertEquals(List.of(List.of(4, 3 * 1176, 1176, 4)), driven.splitQuestions);
    send(1);
    assertEquals(1, driven.splitQuestions.size());
  }

  @Test
  void moreThan64DatagramsAreNotSplit() {
    use(config().sendWindow(128));
    driven.sendSegments(64);
    assertEquals(1, driven.splitQuestions.size());
    send(64 * 1176 + 1);
    assertEquals(1, driven.splitQuestions.size());
  }

  @Test
  void flushThatTheRateLimitHoldsBackInPartIsNotSplit() {
    use(config().rateLimit(100_000).intervalMs(10));
    send(2_001);
    assertEquals(List.of(), driven.splitQuestions);
    driven.nowUs = 100_000;
    send(2_000);
    assertEquals(1, driven.splitQuestions.size());
    send(10);
    assertEquals(1, driven.splitQuestions.size(), "nothing more may leave now");
  }

  @Test
  void flushThatTheBurstLimitHoldsBackInPartIsNotSplit() {
    use(config().maxBurst(4));
    driven.sendSegments(5);
    assertEquals(List.of(), driven.splitQuestions);
    driven.runTo(10_000);
    driven.splitQuestions.clear();
    driven.sendSegments(4);
    assertEquals(List.of(List.of(8, 4 * 1176, 1176, 4)), driven.splitQuestions);
  }

  @Test
  void payloadOfASourceIsNotSplit() {
    int[] left = {3};
    driven.kcp.source(
        new SegmentSource() {
          @Override
          public boolean isReady() {
            return left[0] > 0;
          }

          @Override
          public void pull(ByteBuffer into, int enoughBytes) {
            left[0]--;
            into.put(new byte[100]);
          }

          @Override
          public void onSent(int segments) {}
        });
    driven.kcp.send(bytes(500));
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(), driven.splitQuestions);
    assertEquals(1, sizes().size());
  }

  @Test
  void payloadOfASourceThatTellsItsSizeIsPulledInSegmentsOfOneSize() {
    int[] left = {1000};
    driven.splitInto = 4;
    driven.kcp.source(
        new SegmentSource() {
          @Override
          public boolean isReady() {
            return left[0] > 0;
          }

          @Override
          public int readyBytes(int limitBytes) {
            return left[0];
          }

          @Override
          public void pull(ByteBuffer into, int enoughBytes) {
            for (int written = 0; written < enoughBytes && left[0] > 0; written += 100) {
              left[0] -= 100;
              into.put(new byte[100]);
            }
          }

          @Override
          public void onSent(int segments) {}
        });
    driven.kcp.afterSend(0, driven);
    assertEquals(List.of(List.of(0, 1000, 1176, 64)), driven.splitQuestions);
    assertEquals(List.of(324, 324, 324, 124), sizes());
  }

  @Test
  void acknowledgementsAloneAreNotSplit() {
    driven.receiveBatch(driven.push(0, bytes(10)));
    driven.runTo(100_000);
    assertEquals(List.of(Segment.ACK), driven.sentCmds());
    assertEquals(List.of(), driven.splitQuestions);
  }

  // Other segments of the flush

  @Test
  void acknowledgementsShareTheFirstDatagram() {
    driven.receiveBatch(driven.push(0, bytes(10)));
    send(1250);
    assertEquals(List.of(361, 337, 337, 335), sizes());
  }

  @Test
  void acknowledgementsDoNotShiftMessages() {
    use(messages());
    driven.receiveBatch(driven.push(1, bytes(10)), driven.push(3, bytes(10)));
    sendMessages(25, 50);
    assertEquals(List.of(48 + 7 * 74, 7 * 74, 7 * 74, 4 * 74), sizes());
  }

  @Test
  void retransmissionsShareNoDatagramWithNewSegmentsOfASplitFlush() {
    use(messages());
    sendMessages(1, 50);
    sizes();
    driven.nowUs = 250_000;
    sendMessages(25, 50);
    assertEquals(List.of(74, 7 * 74, 7 * 74, 7 * 74, 4 * 74), sizes());
  }

  @Test
  void retransmissionsShareDatagramsOtherwise() {
    use(messages());
    driven.splitInto = 0;
    sendMessages(1, 50);
    sizes();
    driven.nowUs = 250_000;
    sendMessages(2, 50);
    assertEquals(List.of(3 * 74), sizes());
  }
}
