package io.kcp4j.internal.arq;

import static io.kcp4j.internal.arq.DrivenKcp.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Datagrams that were lost and have been made again from others: protocol.md 2.6. */
class KcpRecoveredTest {

  private final DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);

  private InputResult recover(ByteBuf... segments) {
    return driven.kcp.input(Unpooled.copiedBuffer(segments), Origin.RECOVERED, driven.nowUs);
  }

  @Test
  void payloadIsDeliveredAndAcknowledged() {
    assertEquals(InputResult.ACCEPTED, recover(driven.push(0, bytes(5))));
    assertEquals(bytes(5), driven.receiveAll());
    driven.kcp.flush(0, driven);
    assertEquals(List.of(0), driven.sentSns(Segment.ACK));
  }

  @Test
  void windowIsNotTaken() {
    driven.receiveBatch(driven.wins());
    driven.peerWnd = 7;
    driven.peerUna = 0;
    recover(driven.wins());
    assertEquals(128, driven.kcp.stats().remoteWindow());
    driven.sendSegments(1);
    driven.peerUna = 1;
    recover(driven.wins());
    assertEquals(128, driven.kcp.stats().remoteWindow());
    driven.receiveBatch(driven.wins());
    assertEquals(7, driven.kcp.stats().remoteWindow());
  }

  @Test
  void acknowledgementCountsAndGivesNoRoundTripTime() {
    driven.sendSegments(1);
    int ts = driven.sent().get(0).ts();
    driven.nowUs = 100_000;
    driven.peerUna = 1;
    recover(driven.ack(0, ts));
    assertTrue(driven.kcp.isDrained());
    assertEquals(0, driven.kcp.stats().srttUs());
  }

  @Test
  void isValidatedLikeAnyOther() {
    driven.peerUna = 1;
    assertEquals(InputResult.ACKNOWLEDGES_UNSENT, recover(driven.wins()));
    assertEquals(InputResult.MALFORMED, recover(bytes(3)));
  }

  @Test
  void isNoDatagramOfTheNetwork() {
    recover(driven.push(0, bytes(5)));
    assertEquals(0, driven.count(KcpCounter.DATAGRAMS_IN));
    assertEquals(0, driven.count(KcpCounter.BYTES_IN));
    assertEquals(1, driven.count(KcpCounter.SEGMENTS_IN));
  }
}
