package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.FixedRecvByteBufAllocator;
import org.junit.jupiter.api.Test;

/** A slow reader slows down its peer only. */
class BackpressureTest {

  private static final byte[] DATA = Fixture.randomBytes(2 << 20);

  @OverEachTransport
  void readerThatStopsMakesItsPeerUnwritable(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);

      ChannelFuture written = client.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      await().until(() -> client.stats().remoteWindow() == 0);

      assertFalse(client.isWritable());
      assertFalse(written.isDone());
      assertEquals(0, server.received());
      assertTrue(recorder.writabilityChanges.get() > 0);

      fixture.child().config().setAutoRead(true);
      written.syncUninterruptibly();
      await().until(() -> server.received() == DATA.length);
      assertArrayEquals(DATA, server.bytes());
      assertTrue(client.isWritable());
    }
  }

  @OverEachTransport
  void eachReadDeliversOneBuffer(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serverBootstrap.childOption(
          ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(100));
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, Fixture.randomBytes(250)));
      KcpChannel child = fixture.child();

      for (int expected : new int[] {100, 200, 250}) {
        child.read();
        await().until(() -> server.received() == expected);
      }

      assertEquals(3, server.reads().size());
    }
  }

  @OverEachTransport
  void partlyReadBufferIsReleasedOnClose(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.childOption(ChannelOption.AUTO_READ, false);
      fixture.serverBootstrap.childOption(
          ChannelOption.RECVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(100));
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Fixture.buffer(client, Fixture.randomBytes(250)));
      KcpChannel child = fixture.child();

      child.read();
      await().until(() -> server.received() == 100);
      child.close().syncUninterruptibly();

      assertEquals(100, server.received());
    }
  }

  @OverEachTransport
  void readerThatStopsDoesNotStopOthers(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serve(Echo::new);
      KcpChannel stuck = fixture.connect(new Recorder());
      stuck.writeAndFlush(Fixture.buffer(stuck, new byte[1]));
      fixture.child().config().setAutoRead(false);
      stuck.writeAndFlush(Unpooled.wrappedBuffer(DATA));
      await().until(() -> stuck.stats().remoteWindow() == 0);

      Recorder recorder = new Recorder();
      KcpChannel free = fixture.connect(recorder);
      free.writeAndFlush(Unpooled.wrappedBuffer(DATA));

      await().until(() -> recorder.received() == DATA.length);
      assertArrayEquals(DATA, recorder.bytes());
    }
  }

  @OverEachTransport
  void serverWithoutAutoReadAcceptsNoSession(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(ChannelOption.AUTO_READ, false);
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Fixture.buffer(client, new byte[10]));
      await().until(() -> server.counters().get(KcpCounter.ACCEPT_REFUSED) > 0);
      assertEquals(0, server.sessions());

      server.read();

      await().until(() -> recorder.received() == 10);
      assertEquals(1, server.sessions());
    }
  }

  /** Fails while a flag is set. */
  private static final class FailingAllocator extends AbstractByteBufAllocator {

    private final ByteBufAllocator memory;
    volatile boolean isFailing;

    FailingAllocator(ByteBufAllocator memory) {
      super(true);
      this.memory = memory;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return memory.heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      if (isFailing) {
        throw new OutOfMemoryError("simulated");
      }
      return memory.directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  /** Nothing else happens to the session that would have it look at what waits. */
  @Test
  void writeToAnIdleSessionWithoutMemoryIsRetried() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      Recorder server = new Recorder();
      fixture.serve(() -> server);
      FailingAllocator allocator = new FailingAllocator(fixture.allocator);
      fixture.bootstrap.option(ChannelOption.ALLOCATOR, allocator);
      KcpChannel client = fixture.connect(new Recorder());
      client
          .eventLoop()
          .submit(
              () -> {
                allocator.isFailing = true;
                client.writeAndFlush(Unpooled.wrappedBuffer(new byte[100]));
                allocator.isFailing = false;
              })
          .sync();
      assertEquals(1, client.stats().counters().get(KcpCounter.ALLOCATION_FAILED));
      await().until(() -> server.received() == 100);
    }
  }
}
