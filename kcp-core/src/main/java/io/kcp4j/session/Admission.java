package io.kcp4j.session;

import io.kcp4j.KcpContext;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.List;

/** Decides what becomes of packets that belong to no session of the table: protocol.md 8. */
final class Admission {

  private final SessionTable table;
  private final SessionTable.Handler handler;
  private final KcpCounters counters;
  private final SessionIndex index;
  private final SessionDirectory directory;
  private final ProbeResponder probeResponder;
  private final Backlog backlog;
  private boolean acceptsOnProbe;

  Admission(
      SessionTable table,
      SessionTable.Handler handler,
      KcpContext context,
      SessionIndex index,
      SessionDirectory directory,
      ProbeResponder probeResponder) {
    this.table = table;
    this.handler = handler;
    this.counters = context.total();
    this.index = index;
    this.directory = directory;
    this.probeResponder = probeResponder;
    this.backlog = new Backlog(context);
  }

  void acceptOnProbe(boolean accept) {
    acceptsOnProbe = accept;
  }

  /**
   * Takes in a packet of a session that is not in the table, and that cannot begin one: the session
   * may be in another table, or wait to be accepted.
   *
   * @param start where the packet begins
   */
  void receiveUnclaimed(ByteBuf packet, int start) {
    SessionKey key = index.lastKey();
    SessionTable home = index.otherHome(key);
    if (home != null) {
      counters.add(KcpCounter.FORWARDED, 1);
      int bytes = packet.writerIndex() - start;
      try {
        home.handler().forward(key.remote(), packet.slice(start, bytes));
      } catch (RuntimeException | OutOfMemoryError e) { // whatever an allocator throws
        counters.add(KcpCounter.ALLOCATION_FAILED, 1);
      }
    } else if (!backlog.keep(key, packet, start)) {
      counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    }
  }

  /**
   * Takes in segments of a session that is not in the table.
   *
   * @param start where their packet begins
   * @return the session that they have begun, or null
   */
  Session admit(InetSocketAddress remote, ByteBuf segments, int start, long nowMs) {
    SessionKey key = index.lastKey();
    if (backlog.contains(key) || index.otherHome(key) != null) {
      receiveUnclaimed(segments, start);
      return null;
    }
    if (index.isClosed(key, nowMs)) {
      counters.add(KcpCounter.CLOSED_SESSION, 1);
      return null;
    }
    FirstDatagram first = FirstDatagram.judge(segments);
    if (first == FirstDatagram.BEGINS || (first == FirstDatagram.PROBES && acceptsOnProbe)) {
      return accept(remote, segments, start, nowMs);
    }
    if (first == FirstDatagram.PROBES && directory.acceptsSessions()) {
      probeResponder.answer(remote, key.conv());
      return null;
    }
    counters.add(KcpCounter.UNKNOWN_SESSION, 1);
    if (first == FirstDatagram.NOT_KCP) {
      counters.add(KcpCounter.NOT_KCP, 1);
      handler.mismatched(KcpCounter.NOT_KCP, remote);
    }
    return null;
  }

  private Session accept(InetSocketAddress remote, ByteBuf segments, int start, long nowMs) {
    if (!directory.tryEnter()) {
      counters.add(KcpCounter.ACCEPT_REFUSED, 1);
      return null;
    }
    SessionKey key = index.lastKey().copy();
    if (!index.claim(key)) {
      directory.leave();
      receiveUnclaimed(segments, start); // It has just begun elsewhere.
      return null;
    }
    Session accepted;
    try {
      accepted = handler.accept(remote, key.conv(), nowMs);
    } catch (Throwable e) { // Whatever it is: handlers are others' code.
      if (!backlog.contains(key)) {
        refuse(key, nowMs);
      }
      throw e;
    }
    if (accepted != null) {
      table.insert(accepted, nowMs);
    } else if (backlog.contains(key)) {
      receiveUnclaimed(segments, start);
    } else {
      refuse(key, nowMs);
    }
    return accepted;
  }

  private void refuse(SessionKey key, long nowMs) {
    directory.leave();
    counters.add(KcpCounter.ACCEPT_REFUSED, 1);
    index.releaseUnlessClosed(key, nowMs);
  }

  boolean deferAccept(InetSocketAddress remote, int conv) {
    if (backlog.isFull()) {
      return false;
    }
    backlog.add(new SessionKey(remote, conv));
    return true;
  }

  void completeAccept(InetSocketAddress remote, int conv, Session session, long nowMs) {
    SessionKey key = new SessionKey(remote, conv);
    List<ByteBuf> packets = backlog.remove(key);
    if (packets == null) {
      return;
    }
    try {
      if (session == null) {
        refuse(key, nowMs);
      } else {
        table.insert(session, nowMs);
        table.receiveWaiting(session, packets, nowMs);
      }
    } finally {
      backlog.release(packets);
    }
  }

  /** Refuses all that wait. */
  void close() {
    for (SessionKey key : backlog.clear()) {
      index.release(key);
      directory.leave();
    }
  }
}
