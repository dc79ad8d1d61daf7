package io.kcp4j.smux;

import io.kcp4j.netty.internal.ConnectionMemory;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;

/**
 * The streams of a session by id: those that are open, and those that are closing, which wait for
 * the peer's FIN or for their own to leave.
 */
final class StreamTable {

  /** The approximate memory of a stream, without what it has received. */
  static final int STREAM_BYTES = 512;

  private static final long MAX_ID = 0xffff_ffffL;

  /** Peers choose ids, so lookups must not degrade with bad ones: {@code HashMap} has trees. */
  private final Map<Integer, SmuxStream> streams = new HashMap<>();

  /** Most frames belong to the stream of the frame before. */
  private SmuxStream latest;

  private final ConnectionMemory memory;
  private int closing;
  private long nextId;

  /** Without streams. Clients have odd ids from 3 on, servers even ones from 2 on, as in Go. */
  StreamTable(boolean client, ConnectionMemory memory) {
    this.memory = memory;
    nextId = client ? 3 : 2;
  }

  SmuxStream get(int id) {
    if (latest == null || latest.id() != id) {
      SmuxStream stream = streams.get(id);
      if (stream == null) {
        return null;
      }
      latest = stream;
    }
    return latest;
  }

  /** Those that are open, and those that are closing. */
  Collection<SmuxStream> all() {
    return streams.values();
  }

  int open() {
    return streams.size() - closing;
  }

  int closing() {
    return closing;
  }

  /** Takes an id for a stream that this side opens; the peer may have used some. */
  int takeId() throws SmuxException {
    while (nextId <= MAX_ID) {
      int id = (int) nextId;
      nextId += 2;
      if (!streams.containsKey(id)) {
        return id;
      }
    }
    throw new SmuxException("all stream ids are used up");
  }

  /** For tests. */
  void nextId(long id) {
    nextId = id;
  }

  /** Adds an open stream of the peer, if there is memory for it. */
  boolean tryAddPeerStream(SmuxStream stream) {
    stream.isCharged = memory.tryReserveStream(STREAM_BYTES);
    if (stream.isCharged) {
      add(stream);
    }
    return stream.isCharged;
  }

  private void release(SmuxStream stream) {
    if (stream.isCharged) {
      stream.isCharged = false;
      memory.release(STREAM_BYTES);
    }
  }

  /** Adds an open stream. */
  void add(SmuxStream stream) {
    streams.put(stream.id(), stream);
  }

  /** An open stream was closed. */
  void closed() {
    closing++;
  }

  void remove(SmuxStream stream) {
    streams.remove(stream.id());
    release(stream);
    if (stream.isClosed()) {
      closing--;
    }
    if (latest == stream) {
      latest = null;
    }
  }

  void clear() {
    streams.values().forEach(this::release);
    streams.clear();
    closing = 0;
    latest = null;
  }
}
