package io.kcp4j.fuzz;

import io.kcp4j.EndReason;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ConnectionMemory;

/** What streams over a session of a server hold counts in its account, as in kcp-netty. */
final class AccountMemory implements ConnectionMemory {

  private final Session session;
  private final Runnable flush;

  /** Why the session has ended, or null. */
  EndReason end;

  /** Whether there was no room for a stream, so that its opener is told nothing. */
  boolean hasRefused;

  /**
   * @param flush has the session flushed
   */
  AccountMemory(Session session, Runnable flush) {
    this.session = session;
    this.flush = flush;
  }

  private MemoryAccount account() {
    return session.kcp().memory();
  }

  @Override
  public boolean tryReserveStream(int bytes) {
    boolean isReserved = account().tryReserveStream(bytes);
    hasRefused |= !isReserved;
    return isReserved;
  }

  @Override
  public boolean tryReserveChannel(int bytes) {
    return account().tryReserveChannel(bytes);
  }

  @Override
  public void release(int bytes) {
    account().releaseStream(bytes);
  }

  @Override
  public boolean chargeUnread(int bytes) {
    return account().chargeUnread(bytes);
  }

  @Override
  public void releaseUnread(int bytes) {
    account().releaseUnread(bytes);
  }

  @Override
  public boolean isPeerValidated() {
    return session.path().isValidated();
  }

  @Override
  public void validatePeer() {
    if (end == null) {
      session.kcp().challengePath();
      flush.run();
    }
  }

  @Override
  public boolean isRevoked() {
    return end == EndReason.MEMORY_SHORTAGE || !isPeerValidated();
  }
}
