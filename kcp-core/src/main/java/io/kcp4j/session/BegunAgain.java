package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sessions of a table that are not the only ones of their clients: several have the same
 * incarnation, as when somebody has sent a copy of a client's first packet from a port of his own.
 * A client shows only one session that it has taken its answer. The others end: protocol.md 8.10.
 */
final class BegunAgain {

  private final SessionTable table;
  private final KcpCounters counters;

  /** When their clients have begun other ones. */
  private final Map<Session, Long> sessions = new LinkedHashMap<>();

  BegunAgain(SessionTable table, KcpCounters counters) {
    this.table = table;
    this.counters = counters;
  }

  /** There is another session of the client of one of this table. */
  void add(Session session, long nowUs) {
    if (!table.contains(session)) {
      return;
    }
    session.kcp().makeExtension(); // The first packet may not have been taken in yet.
    if (isConfirmationAwaited(session)) {
      sessions.putIfAbsent(session, nowUs);
      ask(session);
    }
  }

  private static boolean isConfirmationAwaited(Session session) {
    Extension extension = session.extension();
    return extension != null && extension.isConfirmationAwaited();
  }

  /** The answer leaves again, with the probe. */
  private void ask(Session session) {
    session.kcp().probe();
    table.scheduleFlush(session);
  }

  /** Removes a session that has ended. */
  void remove(Session session) {
    sessions.remove(session);
  }

  /** Ends sessions whose clients have confirmed no answer. To be called once a second. */
  void sweep(long nowUs) {
    if (sessions.isEmpty()) {
      return;
    }
    sessions.keySet().removeIf(session -> !isConfirmationAwaited(session));
    for (Session session : List.copyOf(sessions.keySet())) {
      Long sinceUs = sessions.get(session);
      if (sinceUs == null) {
        continue; // The end of another one has ended it, too.
      }
      if (nowUs - sinceUs < CandidatePaths.answerUs(session)) {
        ask(session);
      } else {
        counters.add(KcpCounter.PEERS_MOVED, 1);
        table.end(session, EndReason.PEER_MOVED, nowUs);
      }
    }
  }
}
