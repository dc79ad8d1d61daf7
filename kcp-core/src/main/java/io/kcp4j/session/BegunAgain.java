package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sessions of a table whose clients have begun them again, with the same incarnation, at
 * another address, where they receive. One of two such sessions was begun by a copy of the client's
 * first packet. The client shows only one of them that it has taken its answer; the other one ends:
 * protocol.md 8.10.
 */
final class BegunAgain {

  private final SessionTable table;
  private final KcpCounters counters;

  /** When each was begun again. */
  private final Map<Session, Long> sessions = new LinkedHashMap<>();

  BegunAgain(SessionTable table, KcpCounters counters) {
    this.table = table;
    this.counters = counters;
  }

  /** The client of a session of the table has begun it again. */
  void add(Session session, long nowUs) {
    if (table.contains(session) && !session.isExtensionEstablished()) {
      sessions.putIfAbsent(session, nowUs);
    }
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
    sessions.keySet().removeIf(Session::isExtensionEstablished);
    for (Session session : List.copyOf(sessions.keySet())) {
      Long sinceUs = sessions.get(session); // Null if the end of another one has ended it, too.
      if (sinceUs != null && nowUs - sinceUs >= CandidatePaths.answerUs(session)) {
        counters.add(KcpCounter.PEERS_MOVED, 1);
        table.end(session, EndReason.PEER_MOVED, nowUs);
      }
    }
  }
}
