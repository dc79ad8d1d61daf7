package io.kcp4j.internal.session;

import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.extension.Extension;
import io.kcp4j.internal.path.SessionKey;
import io.netty.util.collection.LongObjectHashMap;
import io.netty.util.collection.LongObjectMap;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Finds the session of a packet by its key, remote address and conversation id. A session has one
 * key from the beginning and may have further ones, as when its peer's address changes. The index
 * remembers the keys of closed sessions, and asks the {@link SessionDirectory} for those that
 * belong to another table.
 */
public final class SessionIndex {

  /** Sessions are found by their address for so long after the last use. */
  private static final long KEEP_ADDRESSES_US = 60_000_000;

  private final SessionTable table;
  private final SessionDirectory directory;
  private final ClosedSessions closed;
  private final SessionMap sessions = new SessionMap();

  /** The keys that sessions have beside their first; few have any. */
  private final Map<Session, List<SessionKey>> furtherKeys = new HashMap<>();

  /** Null while nobody asks for it. */
  private SessionsByAddress byAddress;

  /** Whether it is always needed. */
  private boolean tracksAddresses;

  /** When it was last needed. */
  private long addressesUsedAtUs;

  private final SessionKey lookup = new SessionKey(null, 0);

  /** What was found last, and by which key: most packets of a batch come from one peer. */
  private Session lastFound;

  private InetSocketAddress lastRemote;
  private int lastConv;
  private int size;

  /** The sessions whose ids have been handed out, to be found whatever their address is. */
  private final LongObjectMap<Session> byId = new LongObjectHashMap<>();

  /** Makes an empty index of {@code table}, the owner of its keys in the directory. */
  SessionIndex(SessionTable table, SessionDirectory directory) {
    this.table = table;
    this.directory = directory;
    this.closed = new ClosedSessions(key -> directory.release(key, table));
  }

  /** How many sessions there are. */
  int size() {
    return size;
  }

  /** The session of a key, or null; then {@link #lastKey} is the key. */
  @SuppressWarnings("ReferenceEquality") // The same address object usually: no need to compare.
  Session find(InetSocketAddress remote, int conv) {
    Session last = lastFound;
    if (last != null && conv == lastConv && (remote == lastRemote || remote.equals(lastRemote))) {
      return last;
    }
    Session found = sessions.get(remote, conv);
    if (found == null) {
      lookup.set(remote, conv);
      return null;
    }
    lastFound = found;
    lastRemote = remote;
    lastConv = conv;
    return found;
  }

  /** The sessions for which a condition holds. */
  List<Session> sessions(Predicate<Session> condition) {
    List<Session> found = new ArrayList<>();
    sessions.forEach(
        (key, session) -> {
          if (key.equals(session.key()) && condition.test(session)) {
            found.add(session);
          }
        });
    return found;
  }

  /** The key of the last {@link #find} that returned null; valid until the next one. */
  public SessionKey lastKey() {
    return lookup;
  }

  /**
   * Adds a session by its first key.
   *
   * @throws IllegalArgumentException if another session has that key
   */
  void add(Session session) {
    if (!put(session.key(), session)) {
      throw new IllegalArgumentException("session: " + session.key() + " exists already");
    }
    size++;
  }

  private boolean put(SessionKey key, Session session) {
    boolean isAdded = sessions.putIfAbsent(key, session);
    if (isAdded && byAddress != null && session.path().isValidated()) {
      byAddress.add(key.remote(), session);
    }
    return isAdded;
  }

  /**
   * Adds a further key of a session that is in the index.
   *
   * @return false if another session has that key, at this table or another; nothing has changed
   *     then
   */
  boolean addKey(Session session, SessionKey key) {
    if (!directory.claim(key, table) || !put(key, session)) {
      return false;
    }
    closed.remove(key);
    furtherKeys.computeIfAbsent(session, s -> new ArrayList<>(1)).add(key);
    return true;
  }

  /** Removes a session and remembers its keys as closed. */
  void remove(Session session, long nowUs) {
    close(session.key(), session, nowUs);
    List<SessionKey> further = furtherKeys.remove(session);
    if (further != null) {
      further.forEach(key -> close(key, session, nowUs));
    }
    removeId(session);
    size--;
    forgetLastFound(session);
  }

  /** Removes a session without remembering its keys. */
  void forget(Session session) {
    forget(session.key(), session);
    List<SessionKey> further = furtherKeys.remove(session);
    if (further != null) {
      further.forEach(key -> forget(key, session));
    }
    removeId(session);
    size--;
    forgetLastFound(session);
  }

  private void forget(SessionKey key, Session session) {
    remove(key, session);
    directory.release(key, table);
  }

  private void close(SessionKey key, Session session, long nowUs) {
    remove(key, session);
    closed.add(key, session.closedPeerToken(), session.peerIncarnation(), nowUs);
  }

  private void remove(SessionKey key, Session session) {
    sessions.remove(key);
    if (byAddress != null) {
      byAddress.remove(key.remote(), session);
    }
  }

  private void forgetLastFound(Session session) {
    if (lastFound == session) {
      lastFound = null;
      lastRemote = null;
    }
  }

  // Ids

  /** The id of a session in the index is handed out. */
  void addId(Session session) {
    long id = session.extension().sessionId();
    if (byId.putIfAbsent(id, session) == null) {
      directory.claimId(id, table);
    }
  }

  private void removeId(Session session) {
    Extension extension = session.extension();
    if (extension != null && byId.remove(extension.sessionId(), session)) {
      directory.releaseId(extension.sessionId(), table);
    }
  }

  /** The session with this id, or null. */
  public Session findById(long id) {
    return byId.get(id);
  }

  /** The other table of the session with this id, or null. */
  public SessionTable otherHomeOfId(long id) {
    return directory.otherHomeOfId(id, table);
  }

  // Addresses

  /** Finds sessions by their address from now on, as {@link #oldestBeyond} needs. */
  void trackAddresses() {
    tracksAddresses = true;
    byAddress();
  }

  private SessionsByAddress byAddress() {
    if (byAddress == null) {
      byAddress = new SessionsByAddress();
      sessions.forEach(
          (key, session) -> {
            if (session.path().isValidated()) {
              byAddress.add(key.remote(), session);
            }
          });
    }
    return byAddress;
  }

  /** The path of a session in the index has been validated. */
  void validated(Session session) {
    if (byAddress != null) {
      byAddress.add(session.remote(), session);
    }
  }

  /** Whether the path of a session of this address is validated. Slow at first. */
  boolean isValidated(InetSocketAddress remote, long nowUs) {
    addressesUsedAtUs = nowUs;
    return byAddress().hasAny(remote);
  }

  /**
   * The key by which the validated sessions of this address seal their packets; null if it is not
   * known.
   */
  PacketKey packetKey(InetSocketAddress remote) {
    return byAddress().packetKey(remote);
  }

  /** A key has opened a packet of a session that cannot be a replay. */
  void openedBy(PacketKey key, Session session, InetSocketAddress remote) {
    if (session.packetKey() != key) {
      session.packetKey(key);
      if (byAddress != null) {
        byAddress.packetKeyChanged(remote, session);
      }
    }
  }

  /**
   * The oldest validated session of an address, if that has more than {@code limit} of them, or
   * null.
   */
  Session oldestBeyond(InetSocketAddress remote, int limit) {
    return byAddress().oldestBeyond(remote, limit);
  }

  // Keys without a session

  /** The other table that a key belongs to, or null. */
  public SessionTable otherHome(SessionKey key) {
    return directory.otherHome(key, table);
  }

  /** Reserves a key for a session of this table; returns whether no other table has it. */
  public boolean claim(SessionKey key) {
    if (!directory.claim(key, table)) {
      return false;
    }
    closed.remove(key);
    return true;
  }

  /** Has other tables forward the responses of a path, unless one of them has challenged it. */
  public void claimPath(SessionKey path) {
    directory.claimPath(path, table);
  }

  /** Gives up a path that was claimed. */
  public void releasePath(SessionKey path) {
    directory.releasePath(path, table);
  }

  /** The other table that has challenged a path, or null. */
  public SessionTable otherHomeOfPath(SessionKey path) {
    return directory.otherHomeOfPath(path, table);
  }

  /** Gives up a key that was claimed, unless a session of that key has come and gone. */
  public void releaseUnlessClosed(SessionKey key) {
    if (!closed.remembers(key)) {
      directory.release(key, table);
    }
  }

  /** Gives up a key that was claimed. */
  public void release(SessionKey key) {
    directory.release(key, table);
  }

  /** Remembers a key that was claimed as that of a closed session. */
  public void rememberClosed(SessionKey key, long nowUs) {
    closed.add(key, 0, 0, nowUs);
  }

  /** The session of a key that was closed within the last minute, or null. */
  public ClosedSessions.Entry findClosed(SessionKey key, long nowUs) {
    return closed.find(key, nowUs);
  }

  /** Forgets sessions that were closed long enough ago, and addresses if nobody asks for them. */
  void sweep(long nowUs) {
    closed.forget(nowUs);
    if (!tracksAddresses && nowUs - addressesUsedAtUs > KEEP_ADDRESSES_US) {
      byAddress = null;
    }
  }

  /** Gives up every key, so that other tables may begin sessions of them. */
  void close() {
    sessions.forEach((key, session) -> directory.release(key, table));
    byId.keySet().forEach(id -> directory.releaseId(id, table));
    byId.clear();
    closed.clear();
  }

  /** Finds the validated sessions of a remote address, whatever their conversation ids. */
  static final class SessionsByAddress {

    /** By the address, with the conversation id 0: such keys can be ordered, so may collide. */
    private final Map<SessionKey, Sessions> sessions = new HashMap<>();

    private final SessionKey lookup = new SessionKey(null, 0);

    /** Those of one address, of which there may be as many as an attacker likes. */
    private static final class Sessions {

      final Set<Session> all = new LinkedHashSet<>(2);

      /** By which the peer seals its packets; null if it is not known. */
      PacketKey key;

      /** When the session was received from by which the key is known. */
      long keyAtUs;
    }

    void add(InetSocketAddress remote, Session session) {
      Sessions ofAddress =
          sessions.computeIfAbsent(new SessionKey(remote, 0), key -> new Sessions());
      ofAddress.all.add(session);
      boolean isNewer = receivedAtUs(session) - ofAddress.keyAtUs >= 0; // Others may be idle.
      if (session.packetKey() != null && (ofAddress.key == null || isNewer)) {
        setKey(ofAddress, session);
      }
    }

    private static long receivedAtUs(Session session) {
      return session.keepAlive().lastReceivedAtUs();
    }

    private static void setKey(Sessions ofAddress, Session session) {
      ofAddress.key = session.packetKey();
      ofAddress.keyAtUs = receivedAtUs(session);
    }

    /** Removes a session, if it is there. */
    void remove(InetSocketAddress remote, Session session) {
      Sessions ofAddress = find(remote);
      if (ofAddress != null && ofAddress.all.remove(session) && ofAddress.all.isEmpty()) {
        sessions.remove(lookup);
      }
    }

    private Sessions find(InetSocketAddress remote) {
      lookup.set(remote, 0);
      return sessions.get(lookup);
    }

    boolean hasAny(InetSocketAddress remote) {
      return find(remote) != null;
    }

    /** The first that was added of an address that has more than {@code limit}, or null. */
    Session oldestBeyond(InetSocketAddress remote, int limit) {
      Sessions ofAddress = find(remote);
      boolean isBeyond = ofAddress != null && ofAddress.all.size() > limit;
      return isBeyond ? ofAddress.all.iterator().next() : null;
    }

    /** See {@link SessionIndex#packetKey}. */
    PacketKey packetKey(InetSocketAddress remote) {
      Sessions ofAddress = find(remote);
      return ofAddress == null ? null : ofAddress.key;
    }

    /** The peer of a session has sealed a packet by another key than before. */
    void packetKeyChanged(InetSocketAddress remote, Session session) {
      Sessions ofAddress = find(remote);
      if (ofAddress != null && session.path().isValidated()) {
        setKey(ofAddress, session);
      }
    }
  }
}
