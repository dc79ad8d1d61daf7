package io.kcp4j.internal.session;

import io.kcp4j.internal.path.SessionKey;
import java.net.InetSocketAddress;
import java.util.function.BiConsumer;

/**
 * A hash map from session keys to sessions, with open addressing. A lookup reads two cache lines
 * before those of the session, while a chain of a {@code HashMap} and its keys has seven: with many
 * thousands of sessions none of them is in the processor's cache.
 *
 * <p>A slot holds the address and the conversation id themselves if the address is one of IPv4, and
 * otherwise a hash of the address, so that keys have to be compared as well.
 */
final class SessionMap {

  private static final int MIN_CAPACITY = 16;

  /** Tells an occupied slot from a free one, beside the conversation id. */
  private static final long OCCUPIED = 1L << 32;

  private final SessionKey.Hash hash = new SessionKey.Hash();

  private int size;
  private int mask;

  /** Two of each slot: the address and port or their hash, and the conversation id. */
  private long[] slots;

  private SessionKey[] keys;
  private Session[] sessions;

  SessionMap() {
    allocate(MIN_CAPACITY);
  }

  private void allocate(int capacity) {
    slots = new long[2 * capacity];
    keys = new SessionKey[capacity];
    sessions = new Session[capacity];
    mask = capacity - 1;
  }

  /** The session of a key, or null. */
  Session get(InetSocketAddress remote, int conv) {
    int slot = find(hash.address(remote), remote, conv);
    return slot < 0 ? null : sessions[slot];
  }

  /**
   * Adds a session.
   *
   * @return false if there is another of that key
   */
  boolean putIfAbsent(SessionKey key, Session session) {
    long address = hash.address(key.remote());
    int slot = find(address, key.remote(), key.conv());
    if (slot >= 0) {
      return false;
    }
    set(~slot, address, key, session);
    size++;
    if (size > mask - mask / 4) {
      grow();
    }
    return true;
  }

  /** Removes a key, if there is a session of it. */
  void remove(SessionKey key) {
    int slot = find(hash.address(key.remote()), key.remote(), key.conv());
    if (slot >= 0) {
      size--;
      free(slot);
    }
  }

  void forEach(BiConsumer<SessionKey, Session> action) {
    for (int i = 0; i < keys.length; i++) {
      if (keys[i] != null) {
        action.accept(keys[i], sessions[i]);
      }
    }
  }

  /** The slot of a key, or the complement of the free slot at which the search has ended. */
  private int find(long address, InetSocketAddress remote, int conv) {
    long id = id(conv);
    int slot = home(address, id);
    for (; slots[2 * slot + 1] != 0; slot = slot + 1 & mask) {
      if (slots[2 * slot + 1] == id
          && slots[2 * slot] == address
          && (address >= 0 || keys[slot].remote().equals(remote))) {
        return slot;
      }
    }
    return ~slot;
  }

  private static long id(int conv) {
    return OCCUPIED | Integer.toUnsignedLong(conv);
  }

  private int home(long address, long id) {
    return (int) hash.of(address, (int) id) & mask;
  }

  private void set(int slot, long address, SessionKey key, Session session) {
    slots[2 * slot] = address;
    slots[2 * slot + 1] = id(key.conv());
    keys[slot] = key;
    sessions[slot] = session;
  }

  private void grow() {
    long[] oldSlots = slots;
    SessionKey[] oldKeys = keys;
    Session[] oldSessions = sessions;
    allocate(2 * oldKeys.length);
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldKeys[i] != null) {
        long address = oldSlots[2 * i];
        int slot = ~find(address, oldKeys[i].remote(), oldKeys[i].conv());
        set(slot, address, oldKeys[i], oldSessions[i]);
      }
    }
  }

  /** Frees a slot, and moves those behind it up that a search would not reach any more. */
  private void free(int slot) {
    int free = slot;
    for (int i = free + 1 & mask; slots[2 * i + 1] != 0; i = i + 1 & mask) {
      int home = home(slots[2 * i], slots[2 * i + 1]);
      if ((i - home & mask) >= (i - free & mask)) {
        set(free, slots[2 * i], keys[i], sessions[i]);
        free = i;
      }
    }
    slots[2 * free + 1] = 0;
    keys[free] = null;
    sessions[free] = null;
  }
}
