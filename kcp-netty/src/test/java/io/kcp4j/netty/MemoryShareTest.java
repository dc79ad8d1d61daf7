package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.ArrayList;
import java.util.List;

/** Peers that read nothing occupy at most the part of the memory limit for written data. */
class MemoryShareTest {

  private static final long LIMIT_BYTES = 1 << 20;

  /** A client that reads nothing, and the server's channel for it. */
  private static KcpChannel childOfReaderThatPauses(Fixture fixture, List<KcpChannel> clients)
      throws InterruptedException {
    KcpChannel client = fixture.connect(new ChannelInboundHandlerAdapter());
    client.config().setAutoRead(false);
    client.writeAndFlush(Fixture.buffer(client, new byte[1]));
    clients.add(client);
    return fixture.child();
  }

  @OverEachTransport
  void peersThatReadNothingMakeWritersUnwritableAndLeaveMemoryToOthers(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpServerChannelOption.MEMORY_LIMIT, LIMIT_BYTES);
      fixture.configureChildren(config -> config.sendQueue(256));
      fixture.configureClient(config -> config.ackNoDelay(true)); // one segment a round trip
      KcpServerChannel server = fixture.serve(Echo::new);
      fixture.bootstrap.option(KcpChannelOption.RECEIVE_WINDOW, 8);
      List<KcpChannel> clients = new ArrayList<>();
      List<KcpChannel> closed = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        KcpChannel child = childOfReaderThatPauses(fixture, clients);
        closed.add(child);
        child.writeAndFlush(Unpooled.wrappedBuffer(new byte[400_000]));
      }
      await().until(() -> server.usedMemoryBytes() > LIMIT_BYTES / 8); // A network may have 3/16.

      KcpChannel slow = childOfReaderThatPauses(fixture, clients);
      ChannelFuture written = slow.writeAndFlush(Unpooled.wrappedBuffer(new byte[100_000]));
      await().until(() -> slow.stats().counters().get(KcpCounter.DATAGRAMS_OUT) > 8);
      await().until(() -> !slow.isWritable());
      assertFalse(written.isDone());
      assertEquals(0, slow.bytesBeforeUnwritable());
      fixture.bootstrap.option(KcpChannelOption.RECEIVE_WINDOW, 256);

      byte[] data = Fixture.randomBytes(100_000);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, data));
      await().until(() -> recorder.received() == data.length);
      assertArrayEquals(data, recorder.bytes());
      assertEquals(0, server.counters().get(KcpCounter.OVER_BUDGET));
      assertTrue(
          server.usedMemoryBytes() <= LIMIT_BYTES / 2 + 10 * 2048, "" + server.usedMemoryBytes());
      assertFalse(slow.isWritable());

      closed.forEach(child -> Fixture.configure(child, config -> config.zeroWindowTimeoutMs(1)));
      await().until(() -> closed.stream().noneMatch(KcpChannel::isOpen));
      KcpChannel slowClient = clients.get(clients.size() - 1);
      slowClient.writeAndFlush(Fixture.buffer(slowClient, new byte[1]));
      await().until(slow::isWritable);
      assertTrue(written.isSuccess());
    }
  }
}
