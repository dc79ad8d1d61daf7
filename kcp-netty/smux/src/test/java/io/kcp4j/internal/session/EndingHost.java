package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.lanes.LanesConfig;

/**
 * A side of {@link EndingTest} with its application. Ends the session as a channel of kcp-netty
 * does, in short: {@link #close}, {@link #shutdownOutput} and {@link #reportInputEnd} stand for
 * {@code ChannelClosure}, {@link #shutDownGroup} for {@code KcpEndpoint} and {@code LastDatagrams}
 * when the event loop ends.
 */
final class EndingHost {

  static final int LINGER_MS = 3_000;
  static final int LINGER_MAX_MS = 300_000;

  /** The reason that the peer is told, as in {@code ChannelClosure}. */
  private enum Closing {
    COMPLETE,
    INCOMPLETE,
    ABORTED
  }

  final VirtualHost host;
  final EndingUser user;

  /** Whether the application goes on after the end of its input. */
  boolean isAllowHalfClosure;

  /** Whether nothing of this host is sent or received any more. */
  boolean isGone;

  /** Whether this process stands still. */
  boolean isStopped;

  /** When the application was told that the session or its input has ended; 0 before that. */
  private long toldAtUs;

  private EndReason reason;
  private boolean isCloseRequested;
  private boolean isLingering;
  private boolean isClosed;
  private boolean isCloseFailed;

  EndingHost(int port, Carrier carrier) {
    host = new VirtualHost(port, KeyRing.NONE, MemoryBudget.unlimited());
    host.config = host.config.toBuilder().delivery(carrier.delivery).build();
    user = EndingUser.of(carrier, host);
    host.driver.onProgress = session -> progressed();
    host.driver.onEnd = (session, ended) -> ended(ended);
    host.lanes = LanesConfig.builder().maxLanes(LanesUser.LANES).budgetBytes(1 << 16).build();
  }

  void open(EndingHost peer) {
    host.open(peer.host);
    user.open();
  }

  /** When the application was told of the end; 0 before that. */
  long toldAtUs() {
    return toldAtUs;
  }

  /** Why the session has ended; null before that, and after a close without error. */
  EndReason reason() {
    return reason;
  }

  /** Whether the application has no session any more. */
  boolean isClosed() {
    return isClosed;
  }

  /** Whether this host has gone with its session. */
  boolean isKilled() {
    return isGone && !isClosed;
  }

  /** Whether the future of {@code close()} fails. */
  boolean isCloseFailed() {
    return isCloseFailed;
  }

  /** The reader goes on. */
  void resume() {
    user.isPaused = false;
    if (isClosed) {
      user.read();
      reportInputEnd();
    } else if (host.session != null) {
      progressed();
      host.flush();
    }
  }

  private void progressed() {
    if (isClosed) {
      return;
    }
    if (isLingering) {
      user.discard();
    } else {
      user.read();
    }
    user.send();
    reportInputEnd();
    proceed();
  }

  /** As {@code DuplexClosure}: the peer may have ended its output, and everything is read. */
  private void reportInputEnd() {
    if (isClosed) { // Streams of smux can be read after that.
      if (reason == null && !isCloseRequested && user.isRead()) {
        told();
      }
      return;
    }
    if (user.hasReadEnd()) {
      told();
    }
    if (isLingering || !host.session.isInputFinished() || !user.isDrained()) {
      return;
    }
    if (host.session.isInputIncomplete()) {
      host.driver.table.flushNow(host.session, host.nowUs);
      host.driver.table.remove(host.session, host.nowUs);
      ended(EndReason.INPUT_INCOMPLETE);
      host.session.close();
      return;
    }
    if (user.isRead()) {
      told();
    }
    if (!isAllowHalfClosure || host.session.hasPeerClosed()) {
      closeNow(complete(), false);
      reportInputEnd();
    }
  }

  private void told() {
    toldAtUs = toldAtUs == 0 ? host.nowUs : toldAtUs;
  }

  /** Writes no more, and reads on. */
  void shutdownOutput() {
    if (!user.finish()) {
      host.session.shutdownOutput(host.nowUs);
    }
    host.flush();
  }

  /** {@code ChannelClosure.close}, after streams of smux have ended. */
  void close() {
    if (!isClosed) {
      isCloseRequested = true;
      user.finish();
      proceed();
      host.driver.table.flushPending(host.nowUs);
    }
  }

  /** {@code ChannelClosure.lingerOn}. */
  private void proceed() {
    if (isClosed || !isCloseRequested || !user.isFinished()) {
      return;
    }
    boolean hasPeerClosed = host.session.hasPeerClosed();
    if (!isLingering) {
      if (isDrained() || hasPeerClosed) {
        closeNow(complete(), false);
        return;
      }
      isLingering = true;
      user.discard();
      host.driver.table.linger(host.session, LINGER_MS, LINGER_MAX_MS, host.nowUs);
    } else if (isDrained()) {
      closeNow(Closing.COMPLETE, false);
      return;
    } else if (hasPeerClosed) {
      closeNow(Closing.ABORTED, false);
      return;
    }
    if (user.isQueued()) {
      host.session.sendClose(host.nowUs);
    }
    host.driver.table.scheduleFlush(host.session);
  }

  private boolean isDrained() {
    return user.isQueued() && host.session.kcp().isDrained();
  }

  private Closing complete() {
    return isDrained() ? Closing.COMPLETE : Closing.INCOMPLETE;
  }

  /** The event loop ends: nothing is waited for, and what is sent now is the last. */
  void shutDownGroup() {
    closeNow(complete(), true);
    host.driver.table.close();
  }

  /** {@code KcpChannel.doClose} and {@code KcpEndpoint.close}. */
  private void closeNow(Closing closing, boolean isLast) {
    isClosed = true;
    isCloseFailed = isLingering && closing == Closing.INCOMPLETE;
    SessionTable table = host.driver.table;
    Session session = host.session;
    table.flushNow(session, host.nowUs);
    boolean stays =
        switch (closing) {
          case COMPLETE -> table.closeGracefully(session, host.nowUs);
          case INCOMPLETE -> table.giveUpClosing(session, !user.isQueued(), host.nowUs);
          case ABORTED -> table.abort(session, 0, host.nowUs);
        };
    if (stays && isLast) {
      table.flushLast(session, host.nowUs);
    } else if (stays) {
      table.flushNow(session, host.nowUs);
    }
    user.end();
  }

  /** {@code KcpChannel.ended}: the session ends by itself. */
  private void ended(EndReason ended) {
    if (isClosed) {
      return;
    }
    reason = ended;
    isClosed = true;
    isCloseFailed = isCloseRequested;
    told();
    if (ended == EndReason.CLOSE_TIMEOUT || ended == EndReason.ZERO_WINDOW_TIMEOUT) {
      host.driver.table.giveUpClosing(host.session, !user.isQueued(), host.nowUs);
    }
    user.end();
  }
}
