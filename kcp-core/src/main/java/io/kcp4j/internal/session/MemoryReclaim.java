package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit.ClosingShare;
import io.kcp4j.internal.memory.NetworkParts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;

/**
 * Takes memory back from sessions of a table that make no use of it while others wait, on whatever
 * event loop: protocol.md 8.12. Now and then it compares what sessions hold with how they have
 * progressed, and ends those that rest.
 *
 * <p>Three kinds of sessions are looked at: those of the network that holds most beyond its part;
 * those whose peers take almost nothing of what was sent to them; and those that linger. Of equals,
 * those end first that the table has, or that linger, first: in each run the same.
 */
final class MemoryReclaim {

  /** By this part of what it holds a session has to progress. */
  private static final int PROGRESS_PART = 16;

  private final SessionLifecycle lifecycle;
  private final KcpCounters counters;
  private final OfNetwork ofNetwork;
  private final OfSending ofSending;
  private final OfLingering ofLingering;

  MemoryReclaim(SessionLifecycle lifecycle, MemoryBudget budget, KcpCounters counters) {
    this.lifecycle = lifecycle;
    this.counters = counters;
    ofNetwork = new OfNetwork(budget.limit().networkParts());
    ofSending = new OfSending(budget.limit().networkParts());
    ofLingering = new OfLingering(budget.limit().closingShare());
  }

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return ofNetwork.isActive() || ofSending.isActive() || ofLingering.isActive();
  }

  /** To be called at least once a second. User code may run. */
  void update(long nowUs) {
    ofNetwork.update(nowUs);
    ofSending.update(nowUs);
    ofLingering.update(nowUs);
  }

  /** A session lingers. */
  void addLingering(Session session, long nowUs) {
    ofLingering.sessions.put(session, new Lingering(session, nowUs));
  }

  /** A session lingers no longer. */
  void removeLingering(Session session) {
    Lingering removed = ofLingering.sessions.remove(session);
    if (removed != null) {
      ofLingering.uncount(removed);
    }
  }

  /** Sessions wait for memory. */
  void await(Set<Session> waiting, long nowUs) {
    if (!waiting.stream()
        .allMatch(session -> session.isClosing() || ofLingering.sessions.containsKey(session))) {
      ofLingering.share.await(nowUs);
    }
  }

  /**
   * Of the sessions that rest those that hold at least half as much as the mean, so that their end
   * makes something free: the largest first.
   *
   * @param bytes what a session holds
   */
  private static List<Session> largestResting(
      Set<Session> all, ToIntFunction<Session> bytes, Predicate<Session> isResting) {
    long allBytes = all.stream().mapToLong(bytes::applyAsInt).sum();
    List<Session> resting = new ArrayList<>();
    for (Session session : all) {
      boolean isLarge = 2L * bytes.applyAsInt(session) * all.size() >= allBytes;
      if (isLarge && isResting.test(session)) {
        resting.add(session);
      }
    }
    resting.sort(Comparator.comparingInt(bytes).reversed());
    return resting;
  }

  private void end(Session session, long nowUs) {
    if (lifecycle.contains(session)) {
      lifecycle.end(session, EndReason.MEMORY_SHORTAGE, nowUs);
    }
  }

  private static int heldBytes(Session session) {
    return session.kcp().memory().heldBytes();
  }

  /** The sessions of the network that holds most beyond its part, while those of others wait. */
  private final class OfNetwork {

    /** The sessions of that network are looked at once in this time. */
    private static final long INTERVAL_US = 1_000_000;

    private final NetworkParts parts;

    private long checkedAtUs;

    /** The sessions of the network, and what they had sent and received at the last check. */
    private Map<Session, Progress> checked = Map.of();

    OfNetwork(NetworkParts parts) {
      this.parts = parts;
    }

    boolean isActive() {
      return parts.isLimited() || !checked.isEmpty();
    }

    void update(long nowUs) {
      parts.update(nowUs);
      if (!parts.isLimited()) {
        checked = Map.of();
        return;
      }
      long sinceUs = nowUs - checkedAtUs;
      if (sinceUs < INTERVAL_US) {
        return;
      }
      Map<Session, Progress> before = sinceUs < 2 * INTERVAL_US ? checked : Map.of();
      int network = parts.toShrink(checkedAtUs);
      checkedAtUs = nowUs;
      checked = new LinkedHashMap<>();
      if (network == NetworkParts.NONE) {
        return;
      }
      for (Session session : lifecycle.sessions(s -> s.kcp().memory().network() == network)) {
        checked.put(session, Progress.of(session));
      }
      List<Session> resting =
          largestResting(
              checked.keySet(), MemoryReclaim::heldBytes, s -> isResting(s, before.get(s)));
      for (Session session : resting) {
        if (parts.isOver(network)) {
          end(session, nowUs);
        }
      }
    }

    private boolean isResting(Session session, Progress before) {
      return before != null
          && checked.get(session).bytesSince(before, session) <= heldBytes(session) / PROGRESS_PART
          && !MemoryPressure.isReaderAwaited(session);
    }
  }

  /** What a session has sent and received. */
  private record Progress(int sendUna, long deliveredBytes) {

    static Progress of(Session session) {
      return new Progress(
          session.kcp().sendUna(), session.kcp().counters().get(KcpCounter.PAYLOAD_BYTES_IN));
    }

    /** How much that is more than before, in bytes: of what was sent, by the mean of the rest. */
    long bytesSince(Progress before, Session session) {
      int segments = session.kcp().segmentsToSend();
      int eachBytes =
          segments == 0 ? session.kcp().mssBytes() : session.kcp().memory().sendBytes() / segments;
      return (long) (sendUna - before.sendUna) * eachBytes + deliveredBytes - before.deliveredBytes;
    }
  }

  /**
   * The sessions whose peers take almost nothing of what was sent to them, while others wait for
   * memory to send.
   */
  private final class OfSending {

    /** The time that a peer has to take something. */
    private static final int PERIOD_US = 8_000_000;

    private final NetworkParts parts;
    private long begunAtUs;

    /** What each session had sent when the period began; null while nobody waits. */
    private Map<Session, Integer> sent;

    OfSending(NetworkParts parts) {
      this.parts = parts;
    }

    boolean isActive() {
      return sent != null || parts.isSendAwaited();
    }

    void update(long nowUs) {
      if (!parts.isSendAwaited()) {
        sent = null;
      } else if (sent == null) {
        begin(nowUs);
      } else if (nowUs - begunAtUs >= PERIOD_US) {
        Map<Session, Integer> before = sent;
        List<Session> resting =
            largestResting(
                before.keySet(), OfSending::bytes, session -> isResting(session, before));
        begin(nowUs);
        resting.forEach(session -> end(session, nowUs));
      }
    }

    private void begin(long nowUs) {
      begunAtUs = nowUs;
      sent = new LinkedHashMap<>();
      for (Session session : lifecycle.sessions(s -> bytes(s) > 0)) {
        sent.put(session, session.kcp().sendUna());
      }
    }

    private static boolean isResting(Session session, Map<Session, Integer> before) {
      int acknowledged = session.kcp().sendUna() - before.get(session);
      return acknowledged < session.kcp().segmentsToSend() / PROGRESS_PART;
    }

    private static int bytes(Session session) {
      return session.kcp().memory().sendBytes();
    }
  }

  /**
   * The sessions that linger, while others wait: beyond their share of the limit, those end whose
   * peers take least per second.
   */
  private final class OfLingering {

    /** The sessions are looked at once in this time. */
    private static final long INTERVAL_US = 1_000_000;

    private final ClosingShare share;
    private final Map<Session, Lingering> sessions = new LinkedHashMap<>();

    private long checkedAtUs;

    /** Whether sessions are counted in the share. */
    private boolean isCounting;

    OfLingering(ClosingShare share) {
      this.share = share;
    }

    boolean isActive() {
      return isCounting || (share.isAwaited() && !sessions.isEmpty());
    }

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
        sessions.values().forEach(this::uncount);
      }
    }

    /** Those beyond the share, without those that other event loops may not have seen yet. */
    private List<Session> beyondShare(long nowUs) {
      List<Lingering> slowestFirst = new ArrayList<>();
      for (Lingering lingering : sessions.values()) {
        boolean wasCounted = lingering.countedBytes > 0;
        count(lingering, nowUs);
        if (wasCounted) {
          slowestFirst.add(lingering);
        }
      }
      slowestFirst.sort(Comparator.comparingInt(lingering -> lingering.rateClass));
      List<Session> beyond = new ArrayList<>();
      for (Lingering slowest : slowestFirst) {
        if (share.isExceededFrom(slowest.rateClass)) {
          uncount(slowest);
          beyond.add(slowest.session);
        }
      }
      return beyond;
    }

    private void count(Lingering lingering, long nowUs) {
      uncount(lingering);
      lingering.rateClass = ClosingShare.rateClass(lingering.bytesPerSecond(nowUs));
      lingering.countedBytes = heldBytes(lingering.session);
      share.add(lingering.rateClass, lingering.countedBytes);
    }

    private void uncount(Lingering lingering) {
      share.add(lingering.rateClass, -lingering.countedBytes);
      lingering.countedBytes = 0;
    }

    private void end(Session session, long nowUs) {
      if (lifecycle.contains(session)) {
        counters.add(KcpCounter.SESSIONS_SHORT_OF_MEMORY, 1);
        lifecycle.end(session, EndReason.CLOSE_TIMEOUT, nowUs);
      }
    }
  }

  /** A session that lingers. */
  private static final class Lingering {

    private final Session session;
    private final long beganAtUs;
    private final int sendUnaBefore;

    /** The class of the rate at which the session has delivered since then. */
    private int rateClass;

    /** What is counted in the share, in bytes. */
    private long countedBytes;

    Lingering(Session session, long nowUs) {
      this.session = session;
      beganAtUs = nowUs;
      sendUnaBefore = session.kcp().sendUna();
    }

    /** The rate at which the peer has taken segments, most of which have the full size. */
    long bytesPerSecond(long nowUs) {
      int segments = session.kcp().sendUna() - sendUnaBefore;
      long us = Math.max(1, nowUs - beganAtUs);
      return 1_000_000L * segments * session.kcp().mssBytes() / us;
    }
  }
}
