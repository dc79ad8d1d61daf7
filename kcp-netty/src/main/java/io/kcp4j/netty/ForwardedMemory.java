package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.kcp4j.MemoryAccount;
import io.kcp4j.netty.internal.ConnectionMemory;

/**
 * What streams over a channel hold counts in the account of its session, also after that has been
 * closed. Used by the channel's event loop, after the session has begun.
 */
final class ForwardedMemory implements ConnectionMemory {

  private final KcpChannel channel;

  /** The refusals of memory when this was asked first after the session had ended; -1 before. */
  private long refusals = -1;

  ForwardedMemory(KcpChannel channel) {
    this.channel = channel;
  }

  private MemoryAccount account() {
    return channel.session().kcp().memory();
  }

  @Override
  public boolean tryReserveStream(int bytes) {
    return account().tryReserveStream(bytes);
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
    boolean hasRoom = account().chargeUnread(bytes);
    if (!hasRoom && channel.isActive()) {
      account().noteRefusal(bytes);
    }
    return hasRoom;
  }

  @Override
  public void releaseUnread(int bytes) {
    account().releaseUnread(bytes);
  }

  @Override
  public boolean isPeerValidated() {
    return !channel.mayBeForged();
  }

  @Override
  public void validatePeer() {
    if (channel.isActive()) {
      channel.session().kcp().challengePath();
      channel.session().scheduleFlush();
    }
  }

  @Override
  public boolean isRevoked() {
    return channel.endReason() == EndReason.MEMORY_SHORTAGE
        || channel.mayBeForged()
        || (!channel.isActive() && wasRefusedSinceEnd());
  }

  private boolean wasRefusedSinceEnd() {
    long refusalsNow = account().refusals();
    if (refusals == -1) {
      refusals = refusalsNow;
    }
    return refusalsNow != refusals;
  }
}
