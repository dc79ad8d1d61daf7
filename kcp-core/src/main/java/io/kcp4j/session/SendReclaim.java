package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.MemoryBudget;
import io.kcp4j.NetworkParts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes memory back from sessions whose peers take almost nothing of what was sent to them, while
 * others wait for memory to send, on whatever event loop.
 */
final class SendReclaim {

  /** The time that a peer has to take something. */
  private static final int PERIOD_US = 8_000_000;

  /** It has to take this part of what its session holds. */
  private static final int PROGRESS_PART = 16;

  private final SessionTable table;
  private final NetworkParts parts;
  private long begunAtUs;

  /** What each session had sent when the period began; null while nobody waits. */
  private Map<Session, Integer> sent;

  SendReclaim(SessionTable table, MemoryBudget budget) {
    this.table = table;
    parts = budget.limit().networkParts();
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return sent != null || parts.isSendAwaited();
  }

  /** To be called at least once a second. User code may run. */
  void update(long nowUs) {
    if (!parts.isSendAwaited()) {
      sent = null;
    } else if (sent == null) {
      begin(nowUs);
    } else if (nowUs - begunAtUs >= PERIOD_US) {
      List<Session> resting = resting();
      begin(nowUs);
      resting.forEach(session -> end(session, nowUs));
    }
  }

  private void begin(long nowUs) {
    begunAtUs = nowUs;
    sent = new LinkedHashMap<>(); // Its order is that of the table, in each run the same.
    for (Session session : table.sessions(s -> s.kcp().memory().sendBytes() > 0)) {
      sent.put(session, session.kcp().sendUna());
    }
  }

  /** Those of which at least half as much is held as of others, the largest first. */
  private List<Session> resting() {
    long bytes = sent.keySet().stream().mapToLong(SendReclaim::bytes).sum();
    List<Session> resting = new ArrayList<>();
    sent.forEach(
        (session, una) -> {
          boolean isLarge = 2L * bytes(session) * sent.size() >= bytes;
          if (isLarge && isResting(session, una)) {
            resting.add(session);
          }
        });
    resting.sort(Comparator.comparingInt(SendReclaim::bytes).reversed());
    return resting;
  }

  private static boolean isResting(Session session, int una) {
    int acknowledged = session.kcp().sendUna() - una;
    return acknowledged < session.kcp().segmentsToSend() / PROGRESS_PART;
  }

  private static int bytes(Session session) {
    return session.kcp().memory().sendBytes();
  }

  private void end(Session session, long nowUs) {
    if (table.contains(session)) {
      table.end(session, EndReason.MEMORY_SHORTAGE, nowUs);
    }
  }
}
