package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import java.util.ArrayList;
import java.util.List;

/** Peers that read nothing occupy at most the part of the memory limit for written data. */
class MemoryShareTest {

  private static final long LIMIT_BYTES = 1 << 20;

  /** The first segment of a peer with its own window. */
  private static byte[] hello(int conv, int window) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, conv, Segment.PUSH, 0, window, 1, 0, 0, 1);
    return ByteBufUtil.getBytes(out.writeByte(0));
  }

  @OverEachTransport
  void peersThatReadNothingMakeWritersUnwritableAndLeaveMemoryToOthers(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, LIMIT_BYTES);
      fixture.bootstrap.option(KcpChannelOption.ACK_NO_DELAY, true); // one segment a round trip
      KcpServerChannel server = fixture.serve(Echo::new);
      try (RawPeer rawPeer = new RawPeer(server.localAddress())) {
        List<KcpChannel> closed = new ArrayList<>();
        for (int conv = 1; conv <= 8; conv++) {
          rawPeer.send(hello(conv, 0));
          KcpChannel child = fixture.child();
          closed.add(child);
          child.writeAndFlush(Unpooled.wrappedBuffer(new byte[400_000]));
        }
        await().until(() -> server.heldBytes() > LIMIT_BYTES / 4);

        // One that would take ten segments, and acknowledges none, may have one under way.
        rawPeer.send(hello(100, 10));
        KcpChannel slow = fixture.child();
        ChannelFuture written = slow.writeAndFlush(Unpooled.wrappedBuffer(new byte[30_000]));
        await().until(() -> slow.stats().inFlight() > 0);
        await().until(() -> !slow.isWritable());
        assertFalse(written.isDone());
        assertEquals(0, slow.bytesBeforeUnwritable());

        byte[] data = Fixture.randomBytes(100_000);
        Recorder recorder = new Recorder();
        KcpChannel client = fixture.connect(recorder);
        client.writeAndFlush(Fixture.buffer(client, data));
        await().until(() -> recorder.received() == data.length);
        assertArrayEquals(data, recorder.bytes());
        assertEquals(0, server.counters().get(KcpCounter.OVER_BUDGET));
        assertTrue(server.heldBytes() <= LIMIT_BYTES / 2 + 10 * 2048, "" + server.heldBytes());
        assertFalse(slow.isWritable());

        closed.forEach(child -> child.config().setOption(KcpChannelOption.WRITE_STALL_TIMEOUT, 1));
        await().until(() -> closed.stream().noneMatch(KcpChannel::isOpen));
        rawPeer.send(RawPeer.segment(100, Segment.WASK, 0, new byte[0]));
        await().until(slow::isWritable);
        assertTrue(written.isSuccess());
      }
    }
  }
}
