package io.kcp4j.tunnel;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.netty.KcpChannel;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The counters of a client's sessions, which have a socket each. Thread-safe. */
final class ClientCounters {

  private final Set<KcpChannel> sessions = new LinkedHashSet<>();

  /** The sums over the sessions that have closed. */
  private final KcpCounters closed = new KcpCounters();

  /** Counts for a session until it closes. */
  synchronized void add(KcpChannel session) {
    sessions.add(session);
    session.closeFuture().addListener(future -> remove(session));
  }

  private synchronized void remove(KcpChannel session) {
    sessions.remove(session);
    KcpCounters last = session.endpointCounters();
    for (KcpCounter counter : KcpCounter.values()) {
      closed.add(counter, last.get(counter));
    }
  }

  /** How many sessions are open. */
  synchronized int sessions() {
    return sessions.size();
  }

  /** The sum over all sessions, now. */
  synchronized KcpCounters sum() {
    List<KcpCounters> parts = new ArrayList<>();
    parts.add(closed);
    sessions.forEach(session -> parts.add(session.endpointCounters()));
    return KcpCounters.sumOf(parts).copy();
  }
}
