package io.kcp4j.session;

import io.kcp4j.EndReason;
import java.util.ArrayList;
import java.util.List;

/**
 * The sessions of a table that must end because of what a datagram contains. They end only after
 * the whole datagram has been taken in, because user code may run then.
 */
final class PendingEnds {

  private record End(Session session, EndReason reason) {}

  private final SessionTable table;
  private final FlushQueue flushQueue;
  private final List<End> ends = new ArrayList<>(0);

  PendingEnds(SessionTable table, FlushQueue flushQueue) {
    this.table = table;
    this.flushQueue = flushQueue;
  }

  void add(Session session, EndReason reason) {
    ends.add(new End(session, reason));
  }

  /** Ends those that have not ended yet. */
  void run(long nowUs) {
    while (!ends.isEmpty()) {
      End end = ends.remove(ends.size() - 1);
      if (table.contains(end.session())) {
        flushQueue.answerEnd(end.session(), nowUs);
        table.end(end.session(), end.reason(), nowUs);
      }
    }
  }
}
