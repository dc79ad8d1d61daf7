package io.kcp4j.netty;

import io.kcp4j.MemoryBudget;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.fec.FecContext;
import io.kcp4j.netty.udp.ReceiveSpace;
import io.kcp4j.netty.udp.UdpBatchWriter;
import io.kcp4j.session.TimerWheel;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.concurrent.FastThreadLocal;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.SingleThreadEventExecutor;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * What all endpoints on one event loop share: the clock, the wheel of all their deadlines with at
 * most one scheduled task, memory to send from and to receive into, the ciphers of each key ring,
 * and room for FEC to compute in. While no deadline is armed, no task is scheduled.
 *
 * <p>Belongs to the event loop's thread.
 */
final class EventLoopContext implements Runnable {

  private static final FastThreadLocal<EventLoopContext> CURRENT = new FastThreadLocal<>();

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(EventLoopContext.class);

  private static final long ORIGIN_NS = System.nanoTime();

  /** A wake-up as late as this was held up, by a collection for example, and input waits. */
  private static final int LATE_MS = 50;

  private final EventLoop eventLoop;
  private final TimerWheel wheel = new TimerWheel(readClock());
  private final FecContext fecContext = new FecContext(MemoryBudget.unlimited());
  private final UdpBatchWriter batchWriter = new UdpBatchWriter(PooledByteBufAllocator.DEFAULT);
  private final ReceiveSpace receiveSpace = new ReceiveSpace();
  private final SharedSockets sharedSockets = new SharedSockets();
  private final ExceptionLog exceptions = new ExceptionLog(logger);

  private long nowMs = readClock();
  private final Set<Channel> sockets = new HashSet<>();
  private final Runnable shutdownHook = this::closeSockets;
  private Future<?> wakeUp;
  private long wakeUpAtMs;
  private boolean inputFirst;

  private final Map<KeyRing, SharedCipher> ciphers = new HashMap<>();

  /** The cipher of a key ring, and how many endpoints use it. */
  private static final class SharedCipher {
    final PacketCipher cipher;
    int users;

    SharedCipher(KeyRing ring) {
      cipher = ring.newCipher();
    }
  }

  private EventLoopContext(EventLoop eventLoop) {
    this.eventLoop = eventLoop;
  }

  /** What the endpoints on {@code eventLoop} share. To be called by its thread. */
  static EventLoopContext of(EventLoop eventLoop) {
    EventLoopContext loop = CURRENT.get();
    if (loop == null || loop.eventLoop != eventLoop) {
      loop = new EventLoopContext(eventLoop);
      CURRENT.set(loop);
    }
    return loop;
  }

  private static long readClock() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - ORIGIN_NS);
  }

  /** Reads the clock: milliseconds that never go back. */
  long readNowMs() {
    nowMs = readClock();
    return nowMs;
  }

  /** When the clock was last read, which is now as far as one batch of work is concerned. */
  long nowMs() {
    return nowMs;
  }

  UdpBatchWriter batchWriter() {
    return batchWriter;
  }

  ReceiveSpace receiveSpace() {
    return receiveSpace;
  }

  SharedSockets sharedSockets() {
    return sharedSockets;
  }

  FecContext fecContext() {
    return fecContext;
  }

  TimerWheel wheel() {
    return wheel;
  }

  /** The cipher of a key ring; to be given back by {@link #releaseCipher}. */
  PacketCipher acquireCipher(KeyRing ring) {
    SharedCipher shared = ciphers.computeIfAbsent(ring, SharedCipher::new);
    shared.users++;
    return shared.cipher;
  }

  /** An endpoint no longer uses the cipher of a key ring. */
  void releaseCipher(KeyRing ring) {
    SharedCipher shared = ciphers.get(ring);
    if (--shared.users == 0) {
      ciphers.remove(ring);
    }
  }

  /** An endpoint with this socket has come. */
  void enter(Channel socket) {
    if (sockets.isEmpty() && eventLoop instanceof SingleThreadEventExecutor executor) {
      executor.addShutdownHook(shutdownHook);
    }
    sockets.add(socket);
  }

  /** An endpoint is gone. The last one takes the memory of batches and reads along. */
  void leave(Channel socket) {
    sockets.remove(socket);
    if (sockets.isEmpty()) {
      batchWriter.release();
      receiveSpace.release();
      if (eventLoop instanceof SingleThreadEventExecutor executor) {
        executor.removeShutdownHook(shutdownHook);
      }
    }
  }

  /** Without a quiet period, an event loop may end and leave its channels open. */
  private void closeSockets() {
    List.copyOf(sockets).forEach(Channel::close);
  }

  /**
   * Makes sure that the event loop wakes up for the next deadline. To be called whenever deadlines
   * may have been armed. One that was moved to later costs nothing here: the wake-up finds nothing
   * to do and moves on.
   */
  void schedule() {
    long next = wheel.nextDeadline();
    if (next == Long.MAX_VALUE) {
      return;
    }
    if (wakeUp != null) {
      if (wakeUpAtMs <= next) {
        return;
      }
      wakeUp.cancel(false);
    }
    wakeUpAtMs = next;
    wakeUp = eventLoop.schedule(this, Math.max(0, next - readNowMs()), TimeUnit.MILLISECONDS);
  }

  /** Whether a wake-up is scheduled. */
  boolean isScheduled() {
    return wakeUp != null;
  }

  @Override
  public void run() {
    long now = readNowMs();
    if (now - wakeUpAtMs >= LATE_MS && !inputFirst) {
      // What the peers have sent meanwhile may wait in the sockets: read it before any timeout is
      // judged. A scheduled task, other than an executed one, comes after the next round of I/O.
      inputFirst = true;
      wakeUp = eventLoop.schedule(this, 0, TimeUnit.MILLISECONDS);
      return;
    }
    inputFirst = false;
    wakeUp = null;
    try {
      wheel.advance(now);
    } catch (Throwable e) {
      exceptions.warn(eventLoop, e, now);
    } finally {
      schedule(); // What one deadline throws must not stop those of all others.
    }
  }
}
