package io.kcp4j.internal.session;

import io.kcp4j.internal.admission.CandidatePaths;
import io.kcp4j.internal.admission.FirstPacket;
import io.kcp4j.internal.admission.ReplayFilter;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.path.Path;
import io.kcp4j.internal.path.SessionKey;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/**
 * What the session tables of one endpoint share: the limit on the number of sessions, the {@link
 * Path.AddressExcess}, the {@link ReplayFilter}, the {@link AuthenticatedSessions} and, where there
 * are several tables, which table each session key belongs to. Thread-safe, since the tables may be
 * on different threads. Tables use it when sessions begin and end, and for packets that belong to
 * none of their own sessions.
 *
 * <p>Of several sockets at one port the system chooses the one that receives a peer's packets, and
 * chooses again when a socket joins or leaves. A session stays in the table in which it has begun:
 * its key belongs to the first table that claims it, until that table has forgotten the session, a
 * minute after its end, or has closed. Other tables forward its packets to that table, and none
 * begins the session a second time: protocol.md 8.5.
 */
public final class SessionDirectory {

  /** A table that has refused a session waits for room: idle tables are swept once a second. */
  private static final long AWAITED_US = 2_000_000;

  /** Other tables make room for this number of sessions while one waits. */
  private static final int AWAITED_SESSIONS = 32;

  private static final long NEVER = Long.MIN_VALUE;

  /** Of all directories where peers begin no sessions. */
  private static final AuthenticatedSessions NO_SESSIONS = new AuthenticatedSessions();

  private final int maxSessions;

  /** When one of several tables has refused a session last for want of room. */
  private volatile long awaitedAtUs = NEVER;

  private final AtomicInteger sessions = new AtomicInteger();

  /** Those of them that give way to no other one, and are not about to go. */
  private final AtomicInteger validatedSessions = new AtomicInteger();

  /** The table that each key belongs to; null where there is only one table. */
  private final Map<SessionKey, SessionTable> homes;

  /** The same of the ids of sessions. */
  private final Map<Long, SessionTable> homesOfIds;

  /**
   * The same of {@linkplain CandidatePaths candidate paths}: a key that was only challenged belongs
   * to no table.
   */
  private final Map<SessionKey, SessionTable> homesOfPaths;

  private final Path.AddressExcess addressExcess = new Path.AddressExcess();

  public final AuthenticatedSessions authenticated;

  /** Null until an authenticated packet of a client has been received. */
  public final AtomicReference<ReplayFilter> replayFilter = new AtomicReference<>();

  private SessionDirectory(
      int maxSessions,
      Map<SessionKey, SessionTable> homes,
      Map<Long, SessionTable> homesOfIds,
      Map<SessionKey, SessionTable> homesOfPaths) {
    this.maxSessions = maxSessions;
    this.homes = homes;
    this.homesOfIds = homesOfIds;
    this.homesOfPaths = homesOfPaths;
    authenticated = acceptsSessions() ? new AuthenticatedSessions() : NO_SESSIONS;
  }

  /**
   * Makes the directory of a single table.
   *
   * @param maxSessions the number of sessions at which peers' attempts to begin one are refused; 0
   *     for a table of clients
   */
  public static SessionDirectory ofOne(int maxSessions) {
    return new SessionDirectory(maxSessions, null, null, null);
  }

  /**
   * Makes the directory of several tables.
   *
   * @param maxSessions the number of sessions of all tables at which peers' attempts to begin one
   *     are refused
   */
  public static SessionDirectory ofSeveral(int maxSessions) {
    return new SessionDirectory(
        maxSessions,
        new ConcurrentHashMap<>(),
        new ConcurrentHashMap<>(),
        new ConcurrentHashMap<>());
  }

  /** What the sessions of an address that is not validated may exceed. */
  Path.AddressExcess addressExcess() {
    return addressExcess;
  }

  /** The sessions that authenticated packets have begun. */
  public AuthenticatedSessions authenticated() {
    return authenticated;
  }

  /**
   * The filter for replayed packets.
   *
   * @param budget what it counts against if it has to be made
   */
  public ReplayFilter replayFilter(MemoryBudget budget) {
    ReplayFilter filter = replayFilter.get();
    if (filter == null) {
      filter = ReplayFilter.of(budget);
      if (!replayFilter.compareAndSet(null, filter)) {
        filter.releaseFrom(budget); // Another table has just made one.
        filter = replayFilter.get();
      }
    }
    return filter;
  }

  /** A table closes, and with it what counts against its budget. */
  void close(MemoryBudget budget) {
    ReplayFilter filter = replayFilter.get();
    if (filter != null) {
      filter.releaseFrom(budget);
    }
  }

  /** Whether peers may ever begin a session. */
  public boolean acceptsSessions() {
    return maxSessions > 0;
  }

  /** Whether there is room for a session that a peer begins. */
  public boolean hasRoom() {
    return sessions.get() < maxSessions;
  }

  /** A table has no room for a session, and none of its own that can give way. */
  public void awaitRoom(long nowUs) {
    if (homes != null) {
      awaitedAtUs = nowUs;
    }
  }

  /** Whether unvalidated sessions have to give way to those of another table. */
  public boolean isRoomAwaited(long nowUs) {
    long atUs = awaitedAtUs;
    return atUs != NEVER
        && nowUs - atUs <= AWAITED_US
        && sessions.get() > maxSessions - AWAITED_SESSIONS;
  }

  /** Whether there are more sessions than there is room for. */
  public boolean isExceeded() {
    return sessions.get() > maxSessions;
  }

  /** Counts a session that a peer begins, if there is room for it. */
  public boolean tryEnter() {
    return sessions.getAndUpdate(n -> n < maxSessions ? n + 1 : n) < maxSessions;
  }

  /** Counts a session that this side begins, or for which another gives way. */
  public void enter() {
    sessions.incrementAndGet();
  }

  /** Counts a session that has ended. */
  public void leave() {
    sessions.decrementAndGet();
  }

  /** The path of a session has been validated. */
  public void validated() {
    validatedSessions.incrementAndGet();
  }

  /** Such a session has ended or closes. */
  void validatedLeaves() {
    validatedSessions.decrementAndGet();
  }

  /** Whether there is no room, and none can be expected soon. */
  public boolean isFull() {
    return validatedSessions.get() >= maxSessions;
  }

  /** Gives a key to a table; returns false if it belongs to another. */
  boolean claim(SessionKey key, SessionTable claimant) {
    if (homes == null) {
      return true;
    }
    SessionTable home = homes.putIfAbsent(key.copy(), claimant);
    return home == null || home == claimant;
  }

  /** Takes a key from the table {@code home}, if it belongs to that table. */
  void release(SessionKey key, SessionTable home) {
    if (homes != null) {
      homes.remove(key, home);
    }
  }

  /** The table that a key belongs to, or null if it belongs to none or to {@code asking}. */
  SessionTable otherHome(SessionKey key, SessionTable asking) {
    SessionTable home = homes == null ? null : homes.get(key);
    return home == asking ? null : home;
  }

  /** Gives the id of a session to its table, unless it belongs to another. */
  void claimId(long id, SessionTable home) {
    if (homesOfIds != null) {
      homesOfIds.putIfAbsent(id, home);
    }
  }

  /** Takes an id from the table {@code home}, if it belongs to that table. */
  void releaseId(long id, SessionTable home) {
    if (homesOfIds != null) {
      homesOfIds.remove(id, home);
    }
  }

  /** The table that an id belongs to, or null if it belongs to none or to {@code asking}. */
  SessionTable otherHomeOfId(long id, SessionTable asking) {
    SessionTable home = homesOfIds == null ? null : homesOfIds.get(id);
    return home == asking ? null : home;
  }

  /** Gives a candidate path to the table that challenges it, unless it belongs to another. */
  void claimPath(SessionKey path, SessionTable home) {
    if (homesOfPaths != null) {
      homesOfPaths.putIfAbsent(path, home);
    }
  }

  /** Takes a candidate path from the table {@code home}, if it belongs to that table. */
  void releasePath(SessionKey path, SessionTable home) {
    if (homesOfPaths != null) {
      homesOfPaths.remove(path, home);
    }
  }

  /** The table that a candidate path belongs to, or null if to none or to {@code asking}. */
  SessionTable otherHomeOfPath(SessionKey path, SessionTable asking) {
    SessionTable home = homesOfPaths == null ? null : homesOfPaths.get(path);
    return home == asking ? null : home;
  }

  /** How many paths of candidates are known. */
  public int paths() {
    return homesOfPaths == null ? 0 : homesOfPaths.size();
  }

  /** How many keys belong to a table. */
  public int size() {
    return homes == null ? 0 : homes.size();
  }

  /**
   * The sessions that packets sealed by an AEAD have begun, by conversation id. While such a
   * session lives, a packet that begins another one of its id may be a replay: protocol.md 8.10.
   * Thread-safe: the tables of a server share it.
   */
  public static final class AuthenticatedSessions {

    /** More sessions of one conversation id are not known: clients have not chosen it at random. */
    static final int MAX_OF_CONV = 64;

    /**
     * A session.
     *
     * @param first the packet that has begun it
     * @param next another one of the same conversation id, or null
     * @param count how many there are from here on
     */
    private record Entry(Session session, FirstPacket first, Entry next, int count) {

      static Entry before(Entry next, Session session, FirstPacket first) {
        return new Entry(session, first, next, next == null ? 1 : next.count + 1);
      }
    }

    private final Map<Integer, Entry> entries = new ConcurrentHashMap<>();

    /** Adds a session that has begun. */
    public void add(Session session, FirstPacket first) {
      entries.compute(
          session.conv(),
          (conv, all) ->
              all != null && all.count == MAX_OF_CONV ? all : Entry.before(all, session, first));
    }

    /** Removes a session that has ended, if it was added. */
    void remove(Session session) {
      entries.computeIfPresent(session.conv(), (conv, all) -> without(all, session));
    }

    private static Entry without(Entry all, Session session) {
      Entry kept = null;
      for (Entry entry = all; entry != null; entry = entry.next) {
        if (entry.session != session) {
          kept = Entry.before(kept, entry.session, entry.first);
        }
      }
      return kept;
    }

    /** The packet that has begun a session, if that was added, or null. */
    FirstPacket first(Session session) {
      Entry entry = entries.get(session.conv());
      while (entry != null && entry.session != session) {
        entry = entry.next;
      }
      return entry == null ? null : entry.first;
    }

    /** Whether a session of this conversation id lives. */
    public boolean contains(int conv) {
      return entries.containsKey(conv);
    }

    /** Whether a session lives that a packet with this nonce has begun. */
    public boolean isBegunBy(int conv, long nonce) {
      for (Entry entry = entries.get(conv); entry != null; entry = entry.next) {
        if (entry.first.nonce() == nonce) {
          return true;
        }
      }
      return false;
    }

    /**
     * The other sessions that the client of a session has begun, if it has told its incarnation.
     */
    public List<Session> othersOfClient(Session session) {
      List<Session> others = new ArrayList<>(0);
      FirstPacket first = first(session);
      if (first == null || first.incarnation() == 0) {
        return others;
      }
      for (Entry entry = entries.get(session.conv()); entry != null; entry = entry.next) {
        if (entry.session != session && entry.first.incarnation() == first.incarnation()) {
          others.add(entry.session);
        }
      }
      return others;
    }
  }
}
