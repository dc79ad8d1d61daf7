package io.kcp4j.tunnel;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.tunnel.SessionPool.Lifetime;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.embedded.EmbeddedChannel;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class SessionPoolTest {

  private static final int SCAVENGE_TTL_S = 600;

  private final EmbeddedChannel loop = new EmbeddedChannel();
  private final SessionPool pool =
      new SessionPool(
          loop.eventLoop(),
          () -> new EmbeddedChannel().newSucceededFuture(),
          2,
          new Lifetime(0, SCAVENGE_TTL_S));

  private ChannelFuture take() {
    return pool.take(new EmbeddedChannel());
  }

  @Test
  void connectionsUseTheSessionsInTurn() {
    ChannelFuture first = take();
    ChannelFuture second = take();
    assertNotSame(first, second);
    assertSame(first, take());
    assertSame(second, take());
  }

  @Test
  void closedSessionIsReplaced() {
    ChannelFuture first = take();
    ChannelFuture second = take();
    first.channel().close();
    assertNotSame(first, take());
    assertSame(second, take());
  }

  @Test
  void discardedSessionLivesUntilItsConnectionsHaveClosed() {
    Channel connection = new EmbeddedChannel();
    ChannelFuture discarded = pool.take(connection);
    pool.discard(discarded);
    take();
    assertNotSame(discarded, take());
    assertTrue(discarded.channel().isOpen());
    connection.close();
    assertFalse(discarded.channel().isOpen());
  }

  @Test
  void discardedSessionLivesForALimitedTime() {
    ChannelFuture discarded = take();
    pool.discard(discarded);
    loop.advanceTimeBy(SCAVENGE_TTL_S, TimeUnit.SECONDS);
    loop.runScheduledPendingTasks();
    assertFalse(discarded.channel().isOpen());
  }
}
