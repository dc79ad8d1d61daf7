package io.kcp4j.interop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecDecoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
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

/** One direction of recorded sessions, replayed to a receiver. */
class RecordedSessionTest {

  private static final int UNA_OFFSET = 16;

  static Stream<Arguments> sessionsAndDeliveries() {
    return RecordedSession.all().stream()
        .flatMap(
            session ->
                Stream.of(Delivery.STREAM, Delivery.MESSAGE)
                    .map(delivery -> Arguments.of(session, delivery)));
  }

  @ParameterizedTest
  @MethodSource("sessionsAndDeliveries")
  void serverReceivesWhatTheClientSent(RecordedSession session, Delivery delivery) {
    assertDelivered(session, session.clientToServer(), delivery);
  }

  @ParameterizedTest
  @MethodSource("sessionsAndDeliveries")
  void clientReceivesWhatTheServerSent(RecordedSession session, Delivery delivery) {
    assertDelivered(session, session.serverToClient(), delivery);
  }

  /** kcp-go's sessions never make fragments, so that every segment is also a whole message. */
  private static void assertDelivered(
      RecordedSession session, List<byte[]> datagrams, Delivery delivery) {
    Replay replay = new Replay(session, delivery);
    datagrams.forEach(replay::packet);
    replay.finish();
    assertEquals(session.streamBytes(), replay.receivedBytes);
    assertEquals(session.streamSha256(), HexFormat.of().formatHex(replay.sha256.digest()));
    assertEquals(replay.sentSns.size(), replay.acknowledged, "una of the last datagram out");
    assertEquals(session.isLossy() && session.fec().isEncoding(), replay.recovered > 0);
  }

  /** A receiver that sends no data. */
  private static final class Replay implements DatagramOutput {

    private final MessageDigest sha256;
    private final Set<Integer> sentSns = new HashSet<>();
    private final ByteBuf out = Unpooled.buffer(KcpConfig.MAX_MTU_BYTES);
    private final PacketCipher cipher;
    private final PacketBatch batch = new PacketBatch();
    private final FecDecoder decoder;
    private final Delivery delivery;
    private Kcp kcp;
    private long nowUs;
    private int receivedBytes;
    private int acknowledged;
    private int recovered;

    Replay(RecordedSession session, Delivery delivery) {
      try {
        sha256 = MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException e) {
        throw new AssertionError(e);
      }
      cipher = session.keys().newCipher();
      decoder =
          new FecDecoder(session.fec(), new FecContext(MemoryAccount.of(MemoryBudget.unlimited())));
      this.delivery = delivery;
    }

    void packet(byte[] recorded) {
      nowUs += 1_000;
      ByteBuf packet = Unpooled.copiedBuffer(recorded);
      batch.reset(packet).add(0, recorded.length);
      cipher.open(batch);
      assertFalse(batch.isRefused(0));
      int start = batch.start(0);
      int end = batch.end(0);
      int type = FecPacket.type(packet, start);
      if (!FecPacket.isFec(type)) {
        datagram(packet.slice(start, end - start), Origin.NETWORK);
        return;
      }
      if (type == FecPacket.DATA) {
        int from = start + FecPacket.DATA_HEADER_BYTES;
        datagram(packet.slice(from, end - from), Origin.NETWORK);
      }
      decoder.input(packet, start, end, nowUs);
      for (ByteBuf next = decoder.nextRecovered(); next != null; next = decoder.nextRecovered()) {
        recovered++;
        datagram(next, Origin.RECOVERED);
      }
    }

    private void datagram(ByteBuf datagram, Origin origin) {
      if (kcp == null) {
        int conv = Segment.conv(datagram, datagram.readerIndex());
        KcpConfig config = KcpConfig.builder().delivery(delivery).build();
        kcp = new Kcp(conv, config, KcpContext.of(UnpooledByteBufAllocator.DEFAULT), 0);
      }
      ByteBuf pushes = pushesOf(datagram);
      if (pushes.isReadable()) {
        assertEquals(InputResult.ACCEPTED, kcp.input(pushes, origin, nowUs));
        for (ByteBuf data = kcp.receive(); data != null; data = kcp.receive()) {
          receivedBytes += data.readableBytes();
          sha256.update(data.nioBuffer());
          data.release();
        }
        kcp.afterInput(nowUs, this);
      }
    }

    /**
     * The segments for the receiver: an ACK, or a {@code una} above 0, would acknowledge segments
     * that this receiver has never sent.
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
      kcp.flush(nowUs + 1_000L * kcp.config().intervalMs(), this);
      assertNull(kcp.failure());
      kcp.close();
      decoder.close();
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
