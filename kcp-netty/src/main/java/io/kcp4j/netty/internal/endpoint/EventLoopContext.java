package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.netty.internal.LogLimit;
import io.kcp4j.netty.internal.udp.ReceiveSpace;
import io.kcp4j.netty.internal.udp.UdpBatchWriter;
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
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * The state that all endpoints of one event loop share: the clock, the timer wheel with at most one
 * scheduled task, buffers to send from and to receive into, the ciphers of each key ring, and
 * scratch memory for FEC. While no timer is armed, no task is scheduled. Used by the event loop.
 */
public final class EventLoopContext implements Runnable {

  private static final FastThreadLocal<EventLoopContext> CURRENT = new FastThreadLocal<>();

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(EventLoopContext.class);

  private static final long ORIGIN_NS = System.nanoTime();

  /** A wake-up this late was delayed, by a garbage collection for example: input is pending. */
  private static final int LATE_US = 2_000;

  /** How long timers wait for that input at most, if it does not end. */
  private static final int MAX_DEFERRAL_US = 50_000;

  /** After a batch of this size or more, further datagrams are likely to wait in the socket. */
  private static final int LARGE_BATCH = 32;

  /** They may not be read in the next round of I/O: io_uring requests them there. */
  private static final int ROUNDS_AFTER_LARGE_BATCH = 2;

  /** A wake-up moves to a later time by at least this, so at most once in a millisecond. */
  private static final int LATER_US = 1_000;

  private final EventLoop eventLoop;
  private final TimerWheel wheel = new TimerWheel(readClock());
  private final FecContext fecContext = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
  private final KcpContext.PerThread rings = new KcpContext.PerThread();

  /** Null until there is a client. */
  private MemoryBudget clientBudget;

  private final UdpBatchWriter batchWriter = new UdpBatchWriter(PooledByteBufAllocator.DEFAULT);
  private final ReceiveSpace receiveSpace = new ReceiveSpace();
  private final LogLimit exceptions = new LogLimit();

  private long nowUs = readClock();
  private final Set<Channel> sockets = new HashSet<>();
  private final Runnable shutdownHook = this::closeSockets;
  private Future<?> wakeUp;
  private long wakeUpAtUs;

  /** Whether timers wait for pending input, and until when at most. */
  private boolean isDeferring;

  private long deferredUntilUs;

  /** For how many rounds of I/O they wait, unless another large batch is received. */
  private int roundsLeft;

  private final Map<KeyRing, SharedCipher> ciphers = new HashMap<>();

  /** The cipher of a key ring, and the number of endpoints that use it. */
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

  /** The context of {@code eventLoop}, which must be the calling one. */
  public static EventLoopContext of(EventLoop eventLoop) {
    EventLoopContext loop = CURRENT.get();
    if (loop == null || loop.eventLoop != eventLoop) {
      loop = new EventLoopContext(eventLoop);
      CURRENT.set(loop);
    }
    return loop;
  }

  private static long readClock() {
    return TimeUnit.NANOSECONDS.toMicros(System.nanoTime() - ORIGIN_NS);
  }

  /** Reads the clock, in microseconds, which is monotonic. */
  public long readNowUs() {
    nowUs = readClock();
    return nowUs;
  }

  /** The time at which the clock was last read. */
  public long nowUs() {
    return nowUs;
  }

  UdpBatchWriter batchWriter() {
    return batchWriter;
  }

  ReceiveSpace receiveSpace() {
    return receiveSpace;
  }

  FecContext fecContext() {
    return fecContext;
  }

  public KcpContext.PerThread rings() {
    return rings;
  }

  /** The memory budget of the clients of the event loop. */
  public MemoryBudget clientBudget() {
    if (clientBudget == null) {
      clientBudget = new MemoryBudget(ProcessLimit.ofClients(eventLoop));
    }
    return clientBudget;
  }

  public TimerWheel wheel() {
    return wheel;
  }

  /** Acquires the cipher of a key ring, to be released by {@link #releaseCipher}. */
  PacketCipher acquireCipher(KeyRing ring) {
    SharedCipher shared = ciphers.computeIfAbsent(ring, SharedCipher::new);
    shared.users++;
    return shared.cipher;
  }

  /** Releases the cipher of a key ring. */
  void releaseCipher(KeyRing ring) {
    SharedCipher shared = ciphers.get(ring);
    if (--shared.users == 0) {
      ciphers.remove(ring);
    }
  }

  /**
   * Checks that the event loop would close what {@link #enter} adds. Netty goes on to run tasks
   * when it has closed the channels of an event loop that ends, and has run the shutdown hooks.
   *
   * @throws RejectedExecutionException if the event loop ends
   */
  public void checkRunning() {
    if (eventLoop.isShuttingDown()) {
      throw new RejectedExecutionException("the event loop ends: " + eventLoop);
    }
  }

  /**
   * Adds the socket of an endpoint, or a channel that no socket of this event loop closes: it
   * closes when the event loop ends.
   */
  public void enter(Channel socket) {
    if (sockets.isEmpty() && eventLoop instanceof SingleThreadEventExecutor executor) {
      executor.addShutdownHook(shutdownHook);
    }
    sockets.add(socket);
  }

  /** Removes it. With the last one, the buffers are released. */
  public void leave(Channel socket) {
    sockets.remove(socket);
    if (sockets.isEmpty()) {
      batchWriter.release();
      receiveSpace.release();
      if (eventLoop instanceof SingleThreadEventExecutor executor) {
        executor.removeShutdownHook(shutdownHook);
      }
    }
  }

  /** An event loop that ends without a quiet period may leave its channels open. */
  private void closeSockets() {
    List.copyOf(sockets).forEach(Channel::close);
  }

  /**
   * Schedules a wake-up of the event loop for the next deadline. To be called after timers may have
   * been armed.
   *
   * <p>The wake-up follows the next deadline to a later time, too. Otherwise it would always be
   * near while segments are sent and acknowledged, whose timers are armed and soon cancelled. Each
   * wait for I/O that is to end before the next tick of the system's scheduler makes the kernel set
   * the hardware timer, which takes microseconds in a virtual machine.
   */
  public void schedule() {
    long next = wheel.nextDeadline();
    if (next == Long.MAX_VALUE) {
      return; // A wake-up that is scheduled finds nothing to do.
    }
    if (wakeUp != null) {
      if (wakeUpAtUs <= next && next - wakeUpAtUs < LATER_US) {
        return;
      }
      wakeUp.cancel(false);
    }
    wakeUpAtUs = next;
    wakeUp = eventLoop.schedule(this, Math.max(0, next - readNowUs()), TimeUnit.MICROSECONDS);
  }

  /** Whether a wake-up is scheduled. */
  public boolean isScheduled() {
    return wakeUp != null;
  }

  /** An endpoint has received a batch of datagrams. */
  void received(int datagrams) {
    if (datagrams >= LARGE_BATCH) {
      roundsLeft = ROUNDS_AFTER_LARGE_BATCH;
    }
  }

  /**
   * Whether the timers that are due have to wait. After a delay, acknowledgements may be pending in
   * the sockets: they are read first, or segments would be retransmitted that have arrived. Under
   * overload input does not end, so timers wait at most as long again as they were late.
   */
  private boolean isInputFirst(long nowUs) {
    if (!isDeferring) {
      long lateUs = nowUs - wakeUpAtUs;
      isDeferring = lateUs >= LATE_US;
      deferredUntilUs = nowUs + Math.min(lateUs, MAX_DEFERRAL_US);
      roundsLeft = 0;
    } else {
      isDeferring = roundsLeft > 0 && nowUs < deferredUntilUs;
      roundsLeft--;
    }
    return isDeferring;
  }

  /** Makes the sweep of an endpoint's sessions, which is not started. */
  KeepAliveSweep newKeepAliveSweep(SessionTable table, Runnable afterSweep) {
    return new KeepAliveSweep(this, table, afterSweep);
  }

  /**
   * Checks the sessions of a table once a second for unresponsive and idle peers, as long as there
   * are any. The sweeps of all endpoints of an event loop have the same deadlines, so that many
   * idle clients do not wake the event loop more often than one.
   */
  static final class KeepAliveSweep extends TimerWheel.Timer {

    private static final int INTERVAL_US = 1_000_000;

    private final EventLoopContext loop;
    private final SessionTable table;
    private final Runnable afterSweep;

    private boolean isArmed;

    private KeepAliveSweep(EventLoopContext loop, SessionTable table, Runnable afterSweep) {
      this.loop = loop;
      this.table = table;
      this.afterSweep = afterSweep;
    }

    /** Starts the sweeps, if they are not started; the table has a session. */
    void start(long nowUs) {
      if (!isArmed) {
        arm(nextAtUs(nowUs));
      }
    }

    private void arm(long atUs) {
      isArmed = true;
      loop.wheel.arm(this, atUs);
      loop.schedule();
    }

    private static long nextAtUs(long nowUs) {
      return (nowUs / INTERVAL_US + 1) * INTERVAL_US;
    }

    void stop() {
      isArmed = false;
      loop.wheel.cancel(this);
    }

    @Override
    protected void expire(long nowUs) {
      isArmed = false;
      boolean isPartial = table.sweep(nowUs);
      afterSweep.run();
      if (table.size() > 0) {
        // The next part follows in the next tick of the wheel: sessions are driven meanwhile.
        arm(isPartial ? nowUs + 1 : nextAtUs(nowUs));
      }
    }
  }

  /**
   * Runs the actions that release the parts of an object, in order. If one throws, the others still
   * run.
   *
   * @throws RuntimeException or Error, the first that was thrown, with the others suppressed
   */
  public static void runAll(Runnable... actions) {
    Throwable first = null;
    for (Runnable action : actions) {
      try {
        action.run();
      } catch (RuntimeException | Error e) {
        if (first == null) {
          first = e;
        } else if (first != e) {
          first.addSuppressed(e);
        }
      }
    }
    if (first instanceof Error error) {
      throw error;
    }
    if (first != null) {
      throw (RuntimeException) first;
    }
  }

  @Override
  public void run() {
    long now = readNowUs();
    if (isInputFirst(now)) {
      // A task that is scheduled, other than one that is executed, runs after a round of I/O.
      wakeUp = eventLoop.schedule(this, 0, TimeUnit.MILLISECONDS);
      return;
    }
    wakeUp = null;
    try {
      wheel.advance(now);
    } catch (Throwable e) {
      exceptions.warn(logger, eventLoop, LogLimit.UNEXPECTED, e, now);
    } finally {
      schedule(); // An exception of one timer does not stop the others.
    }
  }
}
