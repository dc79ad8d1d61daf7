package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.MemoryBudget;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes memory back from the network that holds more than its part of it while sessions of others
 * wait.
 */
final class NetworkReclaim {

  /** So often it is checked whether a network holds more than its part. */
  private static final long INTERVAL_US = 1_000_000;

  private final SessionTable table;
  private final MemoryBudget budget;

  private long checkedAtUs;

  /** The progress of sessions of a network that holds more than its part, when that was checked. */
  private Map<Session, Integer> progress = Map.of();

  NetworkReclaim(SessionTable table, MemoryBudget budget) {
    this.table = table;
    this.budget = budget;
  }

  /** No session waits any more. */
  void forget() {
    progress = Map.of();
  }

  /**
   * Ends sessions of a network that holds more than its part while others wait, as far as they have
   * neither sent nor received anything new for a second, and hold more than an equal share of that
   * part: the end of others would make next to nothing free.
   *
   * @param waitingNetwork the network for which others have to leave memory
   */
  void update(int waitingNetwork, long nowUs) {
    if (nowUs - checkedAtUs < INTERVAL_US) {
      return;
    }
    checkedAtUs = nowUs;
    int network = budget.networkOverPart(waitingNetwork);
    Map<Session, Integer> before = progress;
    progress = new HashMap<>();
    if (network < 0) {
      return;
    }
    List<Session> resting = new ArrayList<>();
    List<Session> all = table.sessions(s -> s.kcp().memory().network() == network);
    for (Session session : all) {
      int now = session.kcp().progress();
      progress.put(session, now);
      if (before.getOrDefault(session, now + 1) == now
          && !MemoryPressure.isReaderAwaited(session)) {
        resting.add(session);
      }
    }
    resting.sort(byHeldBytes().reversed());
    for (Session session : resting) {
      boolean isLarge = session.kcp().memory().heldBytes() > budget.partBytes() / all.size();
      if (isLarge && budget.isOverPart(network, 0) && table.contains(session)) {
        table.end(session, EndReason.MEMORY_SHORTAGE, nowUs);
      }
    }
  }

  private static Comparator<Session> byHeldBytes() {
    return Comparator.comparingInt(session -> session.kcp().memory().heldBytes());
  }
}
