package io.kcp4j.jmh;

import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Runs benchmarks on threads such as those of Netty's event loops, where pooled buffers come from a
 * thread-local cache; elsewhere they come from a shared arena. JMH instantiates it by name.
 */
public final class EventLoopThreads extends ThreadPoolExecutor {

  /** The parameters that JMH requires. */
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
