package io.kcp4j.session;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.NetworkParts;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes memory back from the network that holds most beyond its part while sessions of others wait,
 * on whatever event loop: those of its sessions end that make no progress.
 */
final class NetworkReclaim {

  /** So often the sessions of that network are looked at. */
  private static final long INTERVAL_US = 1_000_000;

  /** By this part of what it holds a session has to progress in that time. */
  private static final int PROGRESS_PART = 16;

  private final SessionTable table;
  private final NetworkParts parts;

  private long checkedAtUs;

  /** The sessions of the network, and what they had sent and received at the last check. */
  private Map<Session, Progress> checked = Map.of();

  NetworkReclaim(SessionTable table, NetworkParts parts) {
    this.table = table;
    this.parts = parts;
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

  /** Whether {@link #update} has anything to do. */
  boolean isActive() {
    return parts.isLimited() || !checked.isEmpty();
  }

  /** To be called at least once a second. User code may run. */
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
    checked = new HashMap<>();
    if (network == NetworkParts.NONE) {
      return;
    }
    List<Session> all = table.sessions(s -> s.kcp().memory().network() == network);
    all.forEach(session -> checked.put(session, Progress.of(session)));
    end(resting(all, before), network, nowUs);
  }

  /** Those that rest and whose end makes something free, the largest first. */
  private List<Session> resting(List<Session> all, Map<Session, Progress> before) {
    long bytes = all.stream().mapToLong(NetworkReclaim::heldBytes).sum();
    List<Session> resting = new ArrayList<>();
    for (Session session : all) {
      boolean isLarge = 2L * heldBytes(session) * all.size() >= bytes;
      if (isLarge && isResting(session, before.get(session))) {
        resting.add(session);
      }
    }
    resting.sort(Comparator.comparingInt(NetworkReclaim::heldBytes).reversed());
    return resting;
  }

  private boolean isResting(Session session, Progress before) {
    return before != null
        && checked.get(session).bytesSince(before, session) <= heldBytes(session) / PROGRESS_PART
        && !MemoryPressure.isReaderAwaited(session);
  }

  private void end(List<Session> resting, int network, long nowUs) {
    for (Session session : resting) {
      if (parts.isOver(network) && table.contains(session)) {
        table.end(session, EndReason.MEMORY_SHORTAGE, nowUs);
      }
    }
  }

  private static int heldBytes(Session session) {
    return session.kcp().memory().heldBytes();
  }
}
