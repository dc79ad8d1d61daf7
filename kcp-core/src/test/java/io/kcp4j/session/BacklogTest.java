package io.kcp4j.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.sim.FailingAllocator;
import io.kcp4j.sim.FaultCounts;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import org.junit.jupiter.api.Test;

/** {@link Backlog}: packets are dropped if there is no memory. */
class BacklogTest {

  private final FailingAllocator allocator =
      new FailingAllocator(new UnpooledByteBufAllocator(false, true), 1, 0, new FaultCounts());

  private final KcpContext context = KcpContext.of(allocator);

  @Test
  void packetWithoutMemoryForACopyIsDropped() {
    Backlog backlog = new Backlog(context);
    SessionKey key = new SessionKey(InetSocketAddress.createUnresolved("host", 1), 1);
    ByteBuf packet = Unpooled.buffer().writeZero(100);
    backlog.add(new Incoming(null, key, false, new FirstPacket(0, false, 0, 0), null));
    assertFalse(backlog.keep(key, packet, 0, 0));
    assertEquals(0, context.budget().usedBytes());
    assertEquals(1, context.total().get(KcpCounter.ALLOCATION_FAILED));
    allocator.heal();
    assertTrue(backlog.keep(key, packet, 0, 0));
    assertEquals(100, context.budget().usedBytes());
    assertEquals(1, backlog.clear().size());
    assertEquals(0, context.budget().usedBytes());
  }
}
