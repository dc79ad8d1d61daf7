package io.kcp4j.internal.admission;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.extension.Extension;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionDirectory;
import io.kcp4j.internal.session.SessionLifecycle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The sessions of a table that are not the only ones of their clients: several have the same
 * incarnation, as when somebody has sent a copy of a client's first packet from a port of his own.
 * A client shows only one session that it has taken its answer. Then the others end: protocol.md
 * 8.10.
 */
public final class DuplicateSessions {

  /** A client is asked for its confirmation for so long, once in an interval. */
  private static final long ASK_US = 10_000_000;

  private static final long INTERVAL_US = 1_000_000;

  private final SessionLifecycle lifecycle;
  private final SessionDirectory directory;
  private final KcpCounters counters;

  /** A session whose client has not confirmed its answer. */
  private static final class Unconfirmed {

    private final long sinceUs;
    private long askedAtUs;
    private long endAtUs = Long.MAX_VALUE;

    Unconfirmed(long nowUs) {
      sinceUs = nowUs;
      askedAtUs = nowUs;
    }
  }

  private final Map<Session, Unconfirmed> sessions = new LinkedHashMap<>();

  public DuplicateSessions(
      SessionLifecycle lifecycle, SessionDirectory directory, KcpCounters counters) {
    this.lifecycle = lifecycle;
    this.directory = directory;
    this.counters = counters;
  }

  /** A session of this table has begun, whose client may have others. */
  void begun(Session session, long nowUs) {
    List<Session> others = directory.authenticated().othersOfClient(session);
    if (!others.isEmpty()) {
      add(session, nowUs);
    }
    for (Session other : others) {
      SessionLifecycle home = other.table().lifecycle();
      home.run(lifecycle, now -> home.duplicates().add(other, now), nowUs);
    }
  }

  /** There is another session of the client of a session of this table. */
  public void add(Session session, long nowUs) {
    if (!lifecycle.contains(session)) {
      return;
    }
    session.kcp().makeExtension(); // The first packet may not have been taken in yet.
    if (isUnconfirmed(session)) {
      sessions.putIfAbsent(session, new Unconfirmed(nowUs));
      ask(session);
    } else {
      tellOthers(session, nowUs);
    }
  }

  private static boolean isUnconfirmed(Session session) {
    Extension extension = session.extension();
    return extension != null && extension.isConfirmationAwaited();
  }

  /** The answer leaves again, with the probe. */
  private void ask(Session session) {
    session.kcp().probe();
    lifecycle.scheduleFlush(session);
  }

  /** If the client has confirmed this session, the others have some time to be confirmed, too. */
  private void tellOthers(Session session, long nowUs) {
    if (session.isExtensionEstablished()) {
      for (Session other : directory.authenticated().othersOfClient(session)) {
        SessionLifecycle home = other.table().lifecycle();
        home.run(lifecycle, now -> home.duplicates().confirmedElsewhere(other, now), nowUs);
      }
    }
  }

  private void confirmedElsewhere(Session session, long nowUs) {
    Unconfirmed unconfirmed = sessions.get(session);
    if (unconfirmed != null && unconfirmed.endAtUs == Long.MAX_VALUE) {
      unconfirmed.endAtUs = nowUs + CandidatePaths.answerUs(session);
    }
  }

  /** Removes a session that has ended. */
  public void remove(Session session) {
    sessions.remove(session);
  }

  /** Ends sessions in whose place a client has confirmed another. To be called once a second. */
  public void sweep(long nowUs) {
    if (sessions.isEmpty()) {
      return;
    }
    for (Session session : List.copyOf(sessions.keySet())) {
      Unconfirmed unconfirmed = sessions.get(session);
      if (unconfirmed == null) {
        continue; // The end of another one has ended it, too.
      }
      if (!isUnconfirmed(session)) {
        sessions.remove(session);
        tellOthers(session, nowUs);
      } else if (nowUs >= unconfirmed.endAtUs) {
        counters.add(KcpCounter.PEERS_MOVED, 1);
        lifecycle.end(session, EndReason.PEER_MOVED, nowUs);
      } else if (nowUs - unconfirmed.askedAtUs >= INTERVAL_US
          && nowUs - unconfirmed.sinceUs < ASK_US) {
        unconfirmed.askedAtUs = nowUs;
        ask(session);
      }
    }
  }
}
