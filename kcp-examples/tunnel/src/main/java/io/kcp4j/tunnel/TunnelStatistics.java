package io.kcp4j.tunnel;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** What an end of the tunnel counts. Thread-safe. */
final class TunnelStatistics {

  /** Bytes read from TCP connections. */
  final LongAdder fromTcp = new LongAdder();

  /** Bytes written to TCP connections. */
  final LongAdder toTcp = new LongAdder();

  private int open;
  private long opened;
  private long failed;
  private long refused;

  /**
   * A connection is accepted, which {@link #connectionFailed} or {@link #connectionClosed} ends.
   */
  synchronized void connectionOpened() {
    open++;
    opened++;
  }

  /** A connection cannot be carried: no session, no stream, or no target. */
  synchronized void connectionFailed() {
    failed++;
    connectionClosed();
  }

  /** A limit does not allow a connection. */
  synchronized void connectionRefused() {
    refused++;
  }

  synchronized void connectionClosed() {
    open--;
    notifyAll();
  }

  /** How many connections there are now. */
  synchronized int open() {
    return open;
  }

  /** Waits until there are no connections, and returns whether that came in time. */
  synchronized boolean awaitNoneOpen(int timeoutS) throws InterruptedException {
    long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(timeoutS);
    while (open > 0) {
      long leftNs = endNs - System.nanoTime();
      if (leftNs <= 0) {
        return false;
      }
      TimeUnit.NANOSECONDS.timedWait(this, leftNs);
    }
    return true;
  }

  /**
   * One line.
   *
   * @param sessions how many there are
   * @param kcp the counters of all sessions
   */
  synchronized String line(int sessions, KcpCounters kcp) {
    return String.format(
        Locale.ROOT,
        "%d connections of %d, %d failed; %d sessions; %d bytes from TCP, %d to TCP;"
            + " %d datagrams in, %d out; %d segments retransmitted of %d; %d recovered by FEC;"
            + " %d connections refused",
        open,
        opened,
        failed,
        sessions,
        fromTcp.sum(),
        toTcp.sum(),
        kcp.get(KcpCounter.DATAGRAMS_IN),
        kcp.get(KcpCounter.DATAGRAMS_OUT),
        kcp.get(KcpCounter.RETRANSMITTED),
        kcp.get(KcpCounter.SEGMENTS_OUT),
        kcp.get(KcpCounter.FEC_RECOVERED),
        refused);
  }
}
