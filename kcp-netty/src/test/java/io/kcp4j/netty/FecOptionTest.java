package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kcp4j.fec.FecConfig;
import io.netty.buffer.AbstractByteBufAllocator;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.ChannelOption;
import java.lang.reflect.Field;
import org.junit.jupiter.api.Test;

/** {@link KcpChannelOption#FEC} when the session cannot change its ratio. */
class FecOptionTest {

  private static final FecConfig BEFORE = FecConfig.of(10, 3);
  private static final FecConfig AFTER = FecConfig.of(13, 4);

  private static Object get(Object of, String name) throws ReflectiveOperationException {
    Field field = of.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(of);
  }

  /** A client's channel whose next packets have the last sequence numbers of FEC. */
  private static KcpChannel nearTheEnd(Fixture fixture) throws Exception {
    fixture.serve(Echo::new);
    fixture.bootstrap.option(KcpChannelOption.FEC, BEFORE);
    KcpChannel client = fixture.connect(new Recorder());
    Object encoder = get(get(client.session().get(), "fec"), "encoder");
    Field next = encoder.getClass().getDeclaredField("next");
    next.setAccessible(true);
    long last = 0xffffffffL / 13 * 13 - 26;
    client
        .eventLoop()
        .submit(
            () -> {
              next.setLong(encoder, last);
              return null;
            })
        .get();
    return client;
  }

  @Test
  void setOptionThrowsOnTheEventLoopIfTheRatioIsRefused() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpChannel client = nearTheEnd(fixture);
      Throwable thrown =
          client
              .eventLoop()
              .submit(() -> client.config().setOption(KcpChannelOption.FEC, AFTER))
              .await()
              .cause();
      assertInstanceOf(IllegalStateException.class, thrown);
      assertSame(BEFORE, client.config().getOption(KcpChannelOption.FEC));
      client.eventLoop().submit(() -> client.config().setOption(KcpChannelOption.MTU, 1100)).get();
      assertEquals(1100, client.config().getOption(KcpChannelOption.MTU));
    }
  }

  @Test
  void optionReadsAsTheRatioInForceIfAnotherThreadSetARefusedOne() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpChannel client = nearTheEnd(fixture);
      client.config().setOption(KcpChannelOption.FEC, AFTER);
      client.eventLoop().submit(() -> true).get();
      assertSame(BEFORE, client.config().getOption(KcpChannelOption.FEC));
    }
  }

  /** Fails while a flag is set. */
  private static final class FailingAllocator extends AbstractByteBufAllocator {
    private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true);
    volatile boolean fails;

    private UnpooledByteBufAllocator allocator() {
      if (fails) {
        throw new IllegalStateException("no memory");
      }
      return allocator;
    }

    @Override
    protected ByteBuf newHeapBuffer(int initialCapacity, int maxCapacity) {
      return allocator().heapBuffer(initialCapacity, maxCapacity);
    }

    @Override
    protected ByteBuf newDirectBuffer(int initialCapacity, int maxCapacity) {
      return allocator().directBuffer(initialCapacity, maxCapacity);
    }

    @Override
    public boolean isDirectBufferPooled() {
      return false;
    }
  }

  @Test
  void fecStaysOffWithoutMemoryToResegmentTheQueue() throws Exception {
    FailingAllocator allocator = new FailingAllocator();
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      fixture.bootstrap.option(ChannelOption.ALLOCATOR, allocator);
      fixture.bootstrap.option(KcpChannelOption.SEND_WINDOW, 1);
      fixture.configureClient(config -> config.sendQueue(64));
      KcpChannel client = fixture.connectTo(peer.address(), new Recorder());
      client.writeAndFlush(Fixture.buffer(client, new byte[60_000]));
      await().until(() -> client.stats().queued() > 1);

      allocator.fails = true;
      Throwable thrown =
          client
              .eventLoop()
              .submit(() -> client.config().setOption(KcpChannelOption.FEC, AFTER))
              .await()
              .cause();

      assertInstanceOf(OutOfMemoryError.class, thrown);
      assertSame(FecConfig.NONE, client.config().getOption(KcpChannelOption.FEC));
      allocator.fails = false;
    }
  }
}
