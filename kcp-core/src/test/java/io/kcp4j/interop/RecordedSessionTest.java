package io.kcp4j.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Delivery;
import io.kcp4j.InputResult;
import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** One side of real sessions, replayed into a receiver. */
class RecordedSessionTest {

  private static final int UNA_OFFSET = 16;

  static Stream<Arguments> sessionsAndDeliveries() {
    return RecordedSession.plain().stream()
        .flatMap(
            session ->
                Stream.of(Delivery.values()).map(delivery -> Arguments.of(session, delivery)));
  }

  @ParameterizedTest
  @MethodSource("sessionsAndDeliveries")
  void theServerReceivesWhatTheClientSent(RecordedSession session, Delivery delivery) {
    assertDelivered(session, session.clientToServer(), delivery);
  }

  @ParameterizedTest
  @MethodSource("sessionsAndDeliveries")
  void theClientReceivesWhatTheServerSent(RecordedSession session, Delivery delivery) {
    assertDelivered(session, session.serverToClient(), delivery);
  }

  /** kcp-go's sessions never make fragments, so that every segment is also a whole message. */
  private static void assertDelivered(
      RecordedSession session, List<byte[]> datagrams, Delivery delivery) {
    Replay replay = new Replay(Segment.conv(Unpooled.wrappedBuffer(datagrams.get(0)), 0), delivery);
    datagrams.forEach(replay::datagram);
    replay.finish();
    assertEquals(session.streamBytes(), replay.receivedBytes);
    assertEquals(session.streamSha256(), HexFormat.of().formatHex(replay.sha256.digest()));
    assertEquals(replay.sentSns.size(), replay.acknowledged, "una of the last datagram out");
  }

  /** A receiver without a sender behind it. */
  private static final class Replay implements DatagramOutput {

    private final MessageDigest sha256;
    private final Set<Integer> sentSns = new HashSet<>();
    private final ByteBuf out = Unpooled.buffer(KcpConfig.MAX_MTU_BYTES);
    private final Kcp kcp;
    private long nowMs;
    private int receivedBytes;
    private int acknowledged;

    Replay(int conv, Delivery delivery) {
      try {
        sha256 = MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException e) {
        throw new AssertionError(e);
      }
      KcpConfig config = KcpConfig.builder().delivery(delivery).build();
      kcp = new Kcp(conv, config, KcpContext.of(UnpooledByteBufAllocator.DEFAULT), 0);
    }

    void datagram(byte[] recorded) {
      ByteBuf pushes = pushesOf(Unpooled.wrappedBuffer(recorded));
      if (pushes.isReadable()) {
        nowMs++;
        assertEquals(InputResult.ACCEPTED, kcp.input(pushes, nowMs));
        for (ByteBuf data = kcp.receive(); data != null; data = kcp.receive()) {
          receivedBytes += data.readableBytes();
          sha256.update(data.nioBuffer());
          data.release();
        }
        kcp.afterInput(nowMs, this);
      }
    }

    /**
     * What the receiver can take: an ACK, or a {@code una} above 0, would acknowledge what this
     * receiver has never sent.
     */
    private ByteBuf pushesOf(ByteBuf datagram) {
      ByteBuf pushes = Unpooled.buffer();
      while (datagram.isReadable()) {
        ByteBuf segment =
            datagram.readSlice(
                Segment.HEADER_BYTES + Segment.length(datagram, datagram.readerIndex()));
        if (Segment.cmd(segment, 0) == Segment.PUSH) {
          sentSns.add(Segment.sn(segment, 0));
          segment.setIntLE(UNA_OFFSET, 0);
          pushes.writeBytes(segment);
        }
      }
      return pushes;
    }

    void finish() {
      kcp.flush(nowMs + kcp.config().intervalMs(), this);
      assertNull(kcp.failure());
      kcp.close();
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      return out.clear();
    }

    @Override
    public void end() {
      acknowledged = Segment.una(out, out.readerIndex());
    }
  }
}
