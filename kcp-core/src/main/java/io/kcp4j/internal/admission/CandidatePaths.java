package io.kcp4j.internal.admission;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionIndex;
import io.kcp4j.internal.session.SessionLifecycle;
import io.kcp4j.internal.session.TimerWheel;
import io.netty.buffer.ByteBuf;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Answers queries that name a session of this table from another address than the session's. A
 * query can be recorded and repeated from anywhere, so it proves nothing: the address is
 * challenged, and keeps at most a place among the candidates. Only if its peer responds, which
 * nobody can without the key, the session's own path is challenged, and only if that stays silent
 * the session ends, and the peer is told. A session whose own path was never validated moves to the
 * address instead: a copy of its client's first packet has begun it. Protocol.md 13.9.
 */
public final class CandidatePaths {

  /** At most so many have been challenged and have not responded; as many may have responded. */
  private static final int MAX_PATHS = 1_024;

  /** A challenge is valid for at least as long. */
  private static final long KEEP_US = 8_000_000;

  private static final int PROBE_TIMEOUTS = 3;
  private static final long MIN_WAIT_US = 1_000_000;

  /** A peer decides how long its round trip seems to take. */
  private static final long MAX_WAIT_US = 10_000_000;

  private final SessionLifecycle lifecycle;
  private final SessionIndex index;
  private final StatelessResponder responder;
  private final TimerWheel deadlines;
  private final KcpCounters counters;

  /** The oldest come first. */
  private final Map<SessionKey, CandidatePath> challenged = new LinkedHashMap<>();

  private final Map<SessionKey, CandidatePath> validated = new HashMap<>();

  /** The sessions of these: each has one at most. */
  private final Set<Session> moving = new HashSet<>();

  /** Null until an address has been challenged. */
  private StatelessRetry.RetryTokens challenges;

  public CandidatePaths(
      SessionLifecycle lifecycle,
      SessionIndex index,
      StatelessResponder responder,
      TimerWheel deadlines,
      KcpCounters counters) {
    this.lifecycle = lifecycle;
    this.index = index;
    this.responder = responder;
    this.deadlines = deadlines;
    this.counters = counters;
  }

  /**
   * Takes in a query of a session of this table.
   *
   * @param key the address that it has come from, and the conversation id
   * @param query the index of its item
   */
  void receiveQuery(SessionKey key, Session session, ByteBuf segments, int query, long nowUs) {
    if (session.conv() != key.conv()) {
      return;
    }
    CandidatePath known = validated.get(key);
    if (known != null) {
      if (known.session == session) {
        known.queried(segments, query);
      }
      return;
    }
    if (mayNotMove(session)) {
      return;
    }
    long challenge = challenges().of(key, 0, nowUs);
    if (responder.challenge(
        key, session.extension().peerToken(), challenge, segments, query, nowUs)) {
      candidate(key, session, nowUs).queried(segments, query);
    }
  }

  /** Whether nobody can respond for a session now: its own address has to answer first. */
  private boolean mayNotMove(Session session) {
    return validated.size() == MAX_PATHS || moving.contains(session);
  }

  private StatelessRetry.RetryTokens challenges() {
    if (challenges == null) {
      challenges = new StatelessRetry.RetryTokens();
    }
    return challenges;
  }

  /** The candidate with this address; made if there is none, or one of another session. */
  private CandidatePath candidate(SessionKey key, Session session, long nowUs) {
    CandidatePath candidate = challenged.get(key);
    if (candidate == null || candidate.session != session) {
      if (candidate != null) {
        remove(challenged, candidate);
      } else if (challenged.size() == MAX_PATHS) {
        Iterator<CandidatePath> oldestFirst = challenged.values().iterator();
        counters.add(KcpCounter.CANDIDATE_PATHS_EVICTED, 1);
        remove(challenged, oldestFirst.next());
      }
      candidate = new CandidatePath(key.copy(), session);
      challenged.put(candidate.key, candidate);
      index.claimPath(candidate.key);
    }
    deadlines.arm(candidate, nowUs + KEEP_US);
    return candidate;
  }

  /**
   * Takes in a response to a challenge, if it is one.
   *
   * @param token that the message shows
   * @param response the challenge that it repeats
   */
  void receiveResponse(SessionKey key, long token, long response, long nowUs) {
    CandidatePath candidate = challenged.get(key);
    if (candidate == null
        || mayNotMove(candidate.session)
        || !lifecycle.contains(candidate.session)
        || candidate.session.extension().token() != token
        || !challenges.isValid(key, 0, response, nowUs)) {
      return;
    }
    challenged.remove(key);
    validated.put(candidate.key, candidate);
    moving.add(candidate.session);
    candidate.validate(nowUs);
    Session session = candidate.session;
    if (session.isExtensionEstablished() && session.extension().isUnderstood()) {
      session.extension().challengePath(challenges.of(session.key(), 0, nowUs), nowUs);
    } else {
      session.kcp().probe(); // Its messages have no room for a challenge.
    }
    lifecycle.scheduleFlush(session);
    deadlines.arm(candidate, nowUs + answerUs(session));
  }

  /** The time that a peer has to answer at the address of its session, in microseconds. */
  static long answerUs(Session session) {
    long waitUs = (long) PROBE_TIMEOUTS * session.kcp().probeTimeoutUs();
    return Math.max(MIN_WAIT_US, Math.min(MAX_WAIT_US, waitUs));
  }

  /** The time of a candidate is over. */
  private void expired(CandidatePath candidate, long nowUs) {
    boolean isValidated = validated.get(candidate.key) == candidate;
    remove(isValidated ? validated : challenged, candidate);
    Session session = candidate.session;
    if (!isValidated || !lifecycle.contains(session) || candidate.isOldPathAlive()) {
      return;
    }
    boolean isMoved =
        !session.path().isValidated() && lifecycle.move(session, candidate.key.remote(), nowUs);
    if (isMoved) {
      return;
    }
    counters.add(KcpCounter.PEERS_MOVED, 1);
    long sessionId = session.extension().sessionId();
    try {
      lifecycle.end(session, EndReason.PEER_MOVED, nowUs);
    } finally {
      responder.reset(candidate.key, candidate.una, sessionId, candidate.echo);
    }
  }

  private void remove(Map<SessionKey, CandidatePath> paths, CandidatePath candidate) {
    paths.remove(candidate.key, candidate);
    ended(candidate);
  }

  /** A session begins at an address, which is no candidate any more. */
  void forget(SessionKey key) {
    forget(challenged.remove(key));
    forget(validated.remove(key));
  }

  private void forget(CandidatePath candidate) {
    if (candidate != null) {
      ended(candidate);
    }
  }

  /** Forgets all. */
  public void close() {
    challenged.values().forEach(this::ended);
    challenged.clear();
    validated.values().forEach(this::ended);
    validated.clear();
  }

  private void ended(CandidatePath candidate) {
    deadlines.cancel(candidate);
    index.releasePath(candidate.key);
    if (candidate.hasResponded) {
      moving.remove(candidate.session);
    }
  }

  /**
   * An address, beside its own, from which somebody has named a session: perhaps that session's
   * client, whose NAT has rebound; or an attacker who has recorded its packets.
   */
  private final class CandidatePath extends TimerWheel.Timer {

    /** The address, and the conversation id of the session. */
    private final SessionKey key;

    private final Session session;

    /** What the last query from there wants to be repeated, or null. */
    private ExtensionMessage.Echo echo;

    /** What the last query wants to be acknowledged, in its answer. */
    private int una;

    /** Whether its peer has shown that it receives there. */
    private boolean hasResponded;

    /** When a response has come from there, to a challenge that was sent only there. */
    private long validatedAtUs;

    CandidatePath(SessionKey key, Session session) {
      this.key = key;
      this.session = session;
    }

    /** Remembers the last query from there, an item at {@code index}, to be answered later. */
    void queried(ByteBuf segments, int index) {
      echo = ExtensionMessage.Echo.read(segments, index);
      una = ExtensionMessage.queryUna(segments, index);
    }

    /** Its peer receives there. */
    void validate(long nowUs) {
      hasResponded = true;
      validatedAtUs = nowUs;
    }

    /** Whether the peer was alive at the session's own address since this one was validated. */
    boolean isOldPathAlive() {
      return session.keepAlive().lastReceivedAtUs() >= validatedAtUs;
    }

    @Override
    protected void expire(long nowUs) {
      expired(this, nowUs);
    }
  }
}
