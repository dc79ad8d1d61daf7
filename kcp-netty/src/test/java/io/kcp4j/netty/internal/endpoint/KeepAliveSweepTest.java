package io.kcp4j.netty.internal.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.TestDriver;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.DefaultEventLoop;
import io.netty.channel.EventLoop;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** {@link EventLoopContext.KeepAliveSweep}: the parts of a sweep that takes more than one. */
class KeepAliveSweepTest {

  private static final InetSocketAddress REMOTE = InetSocketAddress.createUnresolved("peer", 1);
  private static final int MORE_THAN_ONE_PART = 100;

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 80, 500, 999})
  void nextPartFollowsInTheNextMillisecond(int afterTickUs)
      throws InterruptedException, ExecutionException {
    EventLoop eventLoop = new DefaultEventLoop();
    try {
      eventLoop.submit(() -> assertContinuesInTheNextMillisecond(eventLoop, afterTickUs)).get();
    } finally {
      eventLoop.shutdownGracefully();
    }
  }

  private static void assertContinuesInTheNextMillisecond(EventLoop eventLoop, int afterTickUs) {
    EventLoopContext loop = EventLoopContext.of(eventLoop);
    long tickUs = (loop.readNowUs() / 1_000 + 1) * 1_000;
    long longAgoUs = tickUs - 10_000_000;
    TestDriver driver =
        TestDriver.builder(KcpContext.of(new UnpooledByteBufAllocator(true)))
            .nowUs(longAgoUs)
            .build();
    for (int conv = 0; conv < MORE_THAN_ONE_PART; conv++) {
      Session session = driver.newSession(REMOTE, conv);
      TestDriver.configure(session, config -> config.keepAliveIntervalMs(1000));
      driver.table.add(session, longAgoUs);
    }
    EventLoopContext.KeepAliveSweep sweep = loop.newKeepAliveSweep(driver.table, () -> {});

    sweep.expire(tickUs + afterTickUs);

    assertEquals(tickUs + 1_000, loop.wheel().nextDeadline());
    sweep.stop();
  }
}
