package io.kcp4j.jmh;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs benchmarks on threads like those of Netty's event loops: pooled buffers come from a cache of
 * the thread's own there, and from a shared arena elsewhere. JMH makes it by its name.
 */
public final class EventLoopThreads extends ThreadPoolExecutor {

  /** JMH asks for exactly these parameters. */
  public EventLoopThreads(int threads, String prefix) {
    super(
        threads,
        threads,
        0,
        TimeUnit.MILLISECONDS,
        new LinkedBlockingQueue<>(),
        new DefaultThreadFactory(prefix, true));
  }
}
