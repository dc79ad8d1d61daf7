package io.kcp4j.netty;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.util.concurrent.EventExecutor;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import java.util.Queue;

/**
 * Event loop groups that tests use one after the other: to end a group takes Netty some tenths of a
 * second, longer than most tests.
 */
final class EventLoopPool {

  private record Key(TransportUnderTest transport, int threads) {}

  private static final Map<Key, Queue<MultiThreadIoEventLoopGroup>> IDLE = new HashMap<>();

  private EventLoopPool() {}

  static synchronized MultiThreadIoEventLoopGroup acquire(
      TransportUnderTest transport, int threads) {
    MultiThreadIoEventLoopGroup idle = idle(transport, threads).poll();
    return idle != null ? idle : transport.newGroup(threads);
  }

  /** Takes a group back when it has run all its tasks, or waits for the end of one that ends. */
  static void release(TransportUnderTest transport, MultiThreadIoEventLoopGroup group) {
    if (group.isShuttingDown()) {
      group.terminationFuture().syncUninterruptibly();
      return;
    }
    for (EventExecutor loop : group) {
      loop.submit(() -> {}).syncUninterruptibly();
    }
    synchronized (EventLoopPool.class) {
      idle(transport, group.executorCount()).add(group);
    }
  }

  private static Queue<MultiThreadIoEventLoopGroup> idle(
      TransportUnderTest transport, int threads) {
    return IDLE.computeIfAbsent(new Key(transport, threads), key -> new ArrayDeque<>());
  }

  /** Ends the event loops, which closes their open channels. */
  static void shutDown(MultiThreadIoEventLoopGroup... groups) {
    for (MultiThreadIoEventLoopGroup group : groups) {
      // Without a quiet period a Netty event loop may end before it has closed its channels.
      group.shutdownGracefully(10, 5000, MILLISECONDS);
    }
    for (MultiThreadIoEventLoopGroup group : groups) {
      group.terminationFuture().syncUninterruptibly();
    }
  }
}
