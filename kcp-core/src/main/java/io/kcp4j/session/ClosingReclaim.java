package io.kcp4j.session;

import io.kcp4j.ClosingShare;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.MemoryBudget;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Takes memory back from sessions that linger, while others wait, on whatever event loop: beyond
 * their share of the limit, those end whose peers take least per second.
 */
final class ClosingReclaim {

  /** The sessions are looked at so often. */
  private static final long INTERVAL_US = 1_000_000;

  private final SessionTable table;
  private final ClosingShare share;
  private final Map<Session, Lingering> sessions = new HashMap<>();

  private long checkedAtUs;

  /** Whether sessions are counted in the share. */
  private boolean isCounting;

  ClosingReclaim(SessionTable table, MemoryBudget budget) {
    this.table = table;
    share = budget.limit().closingShare();
  }

  private final class Lingering {

    final Session session;
    private final long beganAtUs;
    private final int sendUnaBefore;

    /** The class of the rate at which the session has delivered since then. */
    int rateClass;

    /** What is counted in the share, in bytes. */
    private long countedBytes;

    Lingering(Session session, long nowUs) {
      this.session = session;
      beganAtUs = nowUs;
      sendUnaBefore = session.kcp().sendUna();
    }

    /** Counts the session in the share. Returns whether it was counted before. */
    boolean count(long nowUs) {
      boolean wasCounted = countedBytes > 0;
      uncount();
      int segments = session.kcp().sendUna() - sendUnaBefore; // Most have the full size.
      long us = Math.max(1, nowUs - beganAtUs);
      rateClass = ClosingShare.rateClass(1_000_000L * segments * session.kcp().mssBytes() / us);
      countedBytes = session.kcp().memory().heldBytes();
      share.add(rateClass, countedBytes);
      return wasCounted;
    }

    void uncount() {
      share.add(rateClass, -countedBytes);
      countedBytes = 0;
    }
  }

  /** A session lingers. */
  void add(Session session, long nowUs) {
    sessions.put(session, new Lingering(session, nowUs));
  }

  /** A session lingers no longer. */
  void remove(Session session) {
    Lingering removed = sessions.remove(session);
    if (removed != null) {
      removed.uncount();
    }
  }

  /** Sessions wait for memory. */
  void await(Set<Session> waiting, long nowUs) {
    if (!waiting.stream()
        .allMatch(session -> session.isClosing() || sessions.containsKey(session))) {
      share.await(nowUs);
    }
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return isCounting || (share.isAwaited() && !sessions.isEmpty());
  }

  /** To be called at least once a second. User code may run. */
  void update(long nowUs) {
    if (!isActive() || nowUs - checkedAtUs < INTERVAL_US) {
      return;
    }
    checkedAtUs = nowUs;
    share.update(nowUs);
    isCounting = share.isAwaited();
    if (isCounting) {
      beyondShare(nowUs).forEach(session -> end(session, nowUs));
    } else {
      sessions.values().forEach(Lingering::uncount);
    }
  }

  /** Those beyond the share, without those that other event loops may not have seen yet. */
  private List<Session> beyondShare(long nowUs) {
    List<Lingering> slowestFirst = new ArrayList<>();
    for (Lingering lingering : sessions.values()) {
      if (lingering.count(nowUs)) {
        slowestFirst.add(lingering);
      }
    }
    slowestFirst.sort(Comparator.comparingInt(lingering -> lingering.rateClass));
    List<Session> beyond = new ArrayList<>();
    for (Lingering slowest : slowestFirst) {
      if (share.isExceededFrom(slowest.rateClass)) {
        slowest.uncount();
        beyond.add(slowest.session);
      }
    }
    return beyond;
  }

  private void end(Session session, long nowUs) {
    if (table.contains(session)) {
      table.context().total().add(KcpCounter.SESSIONS_SHORT_OF_MEMORY, 1);
      table.end(session, EndReason.CLOSE_TIMEOUT, nowUs);
    }
  }
}
