package io.kcp4j.internal.arq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.BufferKinds;
import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a session sends and takes in, from buffers of every kind that a user may have. */
class KcpBufferKindsTest {

  private static final int BYTES = 3001;

  @TempDir private Path folder;
  private final byte[] content = ByteBufUtil.getBytes(DrivenKcp.bytes(BYTES));
  private Map<String, ByteBuf> kinds = Map.of();

  private void forEachKind(byte[] bytes, Function<ByteBuf, ByteBuf> delivered) {
    kinds = BufferKinds.of(bytes, folder);
    Map<String, String> altered = new TreeMap<>();
    kinds.forEach(
        (name, buffer) -> {
          try {
            int end = buffer.writerIndex();
            if (!delivered.apply(buffer).equals(Unpooled.wrappedBuffer(content))) {
              altered.put(name, "other bytes");
            } else if (buffer.writerIndex() != end) {
              altered.put(name, "the writer index has moved");
            }
          } catch (RuntimeException | AssertionError e) {
            altered.put(name, e.toString());
          }
        });
    assertEquals(Map.of(), altered);
  }

  @AfterEach
  void release() {
    kinds.values().forEach(ByteBuf::release);
  }

  /** Writes all of it, as the queue has room, and returns what the peer would read. */
  private static ByteBuf sendThrough(KcpConfig.Builder config, ByteBuf data) {
    DrivenKcp driven = new DrivenKcp(config.congestionControl(CongestionControl.NONE));
    driven.peerWnd = 3;
    driven.receiveBatch(driven.wins());
    ByteBuf sent = Unpooled.buffer();
    int calls = 0;
    for (boolean all = false; !all; calls++) {
      assertTrue(calls < 1000, "stands still");
      all = driven.kcp.send(data);
      driven.kcp.afterSend(driven.nowUs, driven);
      for (SentSegment segment : driven.sent()) {
        sent.writeBytes(segment.payload());
        driven.peerUna = segment.sn() + 1;
      }
      driven.receiveBatch(driven.wins());
    }
    while (!driven.kcp.isDrained()) {
      for (SentSegment segment : driven.sent()) {
        sent.writeBytes(segment.payload());
        driven.peerUna = segment.sn() + 1;
      }
      driven.receiveBatch(driven.wins());
    }
    assertEquals(0, data.readableBytes());
    driven.kcp.close();
    driven.assertNothingHeld();
    return sent;
  }

  /** The queue is full several times: later calls begin in the middle of the buffer. */
  @Test
  void streamIsSentUnalteredFromEveryKindOfBuffer() {
    forEachKind(
        content,
        data -> sendThrough(KcpConfig.builder().mtuBytes(124).sendQueue(7).sendWindow(5), data));
  }

  @Test
  void messageIsSentUnalteredFromEveryKindOfBuffer() {
    forEachKind(
        content,
        data ->
            sendThrough(
                KcpConfig.builder().delivery(Delivery.MESSAGE).mtuBytes(324).sendWindow(5), data));
  }

  @Test
  void segmentsAreTakenInFromEveryKindOfBuffer() {
    ByteBuf datagram = Unpooled.buffer();
    DrivenKcp peer = new DrivenKcp(KcpConfig.DEFAULT);
    // In order, beyond a gap, and what closes the gap.
    datagram.writeBytes(peer.push(0, Unpooled.wrappedBuffer(content, 0, 1000)));
    datagram.writeBytes(peer.push(2, Unpooled.wrappedBuffer(content, 1100, 1901)));
    datagram.writeBytes(peer.push(1, Unpooled.wrappedBuffer(content, 1000, 100)));
    forEachKind(
        ByteBufUtil.getBytes(datagram),
        data -> {
          DrivenKcp driven = new DrivenKcp(KcpConfig.DEFAULT);
          assertEquals(InputResult.ACCEPTED, driven.kcp.input(data, 0));
          ByteBuf received = driven.receiveAll();
          driven.kcp.close();
          return received;
        });
  }
}
