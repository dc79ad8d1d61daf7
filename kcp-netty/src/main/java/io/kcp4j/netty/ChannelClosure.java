package io.kcp4j.netty;

import io.kcp4j.EndReason;
import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.DuplexClosure;
import io.kcp4j.netty.internal.endpoint.SessionChannel.Ending;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;

/**
 * How a session's channel ends. {@code close()} waits until the peer has acknowledged what was
 * flushed, or until that takes too long, see {@link KcpChannelOption#LINGER}. Used by the channel's
 * event loop, except where noted.
 */
final class ChannelClosure extends DuplexClosure {

  private final KcpChannel channel;

  private Ending ending = Ending.ABORTED;

  /** Whether some flushed data has not reached the session's send queue. */
  private boolean hasMore;

  /** The code with which the session is aborted. */
  private int abortCode;

  /** Whether the peer is told that nothing follows what is in the send queue. */
  private boolean isOutputEnded;

  ChannelClosure(KcpChannel channel) {
    super(channel);
    this.channel = channel;
  }

  private Session session() {
    return channel.session().get();
  }

  Ending ending() {
    return ending;
  }

  /** Of an {@link Ending#INCOMPLETE} one: whether more is missing than the session has. */
  boolean hasMore() {
    return hasMore;
  }

  int abortCode() {
    return abortCode;
  }

  /** The session ends for {@code reason}; the channel closes next. */
  void ended(EndReason reason) {
    hasMore = !isQueued();
    ending =
        switch (reason) {
          case IDLE_TIMEOUT -> isDrained() ? Ending.COMPLETE : Ending.ABORTED;
          case CLOSE_TIMEOUT, ZERO_WINDOW_TIMEOUT -> Ending.INCOMPLETE;
          case MEMORY_SHORTAGE -> isLingering() ? Ending.INCOMPLETE : Ending.ABORTED;
          default -> Ending.ABORTED;
        };
  }

  /** Closes without waiting for the peer, and tells it that the session was aborted. */
  void abort(int code) {
    abortCode = code;
    ending = Ending.ABORTED;
    channel.closeNow();
  }

  /** Closes without waiting for the peer, and tells it what it has. */
  void closeNow() {
    ending = endingWithoutWait();
    channel.closeNow();
  }

  /** Closes, or waits for the peer. Returns false if the caller has to close at once. */
  boolean close(ChannelPromise promise) {
    if (channel.endReason() != null) { // The session has ended, so the channel closes.
      if (!promise.isVoid() && promise.setUncancellable()) {
        channel.closeFuture().addListener(future -> promise.trySuccess());
      }
      return true;
    }
    if (channel.isOpen()) {
      ending = endingWithoutWait();
    }
    return linger(promise);
  }

  private Ending endingWithoutWait() {
    if (!channel.isActive() || channel.config().kcp().lingerMs() == 0) {
      return Ending.ABORTED;
    }
    hasMore = !isQueued();
    return isDrained() ? Ending.COMPLETE : Ending.INCOMPLETE;
  }

  @Override
  protected void completeClose(ChannelPromise promise) {
    if (channel.endReason() == null && ending != Ending.INCOMPLETE) {
      promise.trySuccess();
    } else {
      promise.tryFailure(channel.closedBy());
    }
  }

  @Override
  protected boolean hasToLinger() {
    return channel.isActive()
        && channel.config().kcp().lingerMs() > 0
        && channel.endpoint().isOpen()
        && session().kcp().failure() == null
        && !session().hasPeerClosed()
        && !isDrained();
  }

  @Override
  protected boolean isLingeringPossible() {
    return channel.isOpen() && channel.endpoint().isOpen();
  }

  /** Whether the peer has everything that was flushed. */
  private boolean isDrained() {
    return isQueued() && session().kcp().isDrained();
  }

  /** Whether everything that was flushed is in the session's send queue. */
  private boolean isQueued() {
    ChannelOutboundBuffer pending = channel.unsafe().outboundBuffer();
    return pending == null || pending.isEmpty();
  }

  @Override
  protected void onLinger() {
    channel.reader().cancel();
    channel.session().linger();
    discardLingeringInput();
    sendCloseOnceQueued();
  }

  /** Input that nobody reads must not keep a peer that closes, too, from sending everything. */
  private void discardLingeringInput() {
    discardInput();
    channel.session().scheduleFlush();
  }

  /** Tells the peer of the end together with the last data, rather than after it. */
  private void sendCloseOnceQueued() {
    if (isQueued()) {
      channel.session().sendClose();
    }
  }

  /** The session may have received or sent something: reports ends, and ends the lingering. */
  void sessionProgressed(boolean isReadRequested) {
    progressed(isReadRequested);
    if (isLingering() && channel.isOpen()) {
      lingerOn();
    }
  }

  /** Closes the channel if the peer has acknowledged everything, or reads no more. */
  private void lingerOn() {
    discardLingeringInput();
    if (isDrained()) {
      ending = Ending.COMPLETE;
      channel.closeNow();
    } else if (session().hasPeerClosed()) {
      ending = Ending.ABORTED; // It wants none of the rest.
      channel.closeNow();
    } else {
      sendCloseOnceQueued();
    }
  }

  @Override
  public void progressed(boolean isReadRequested) {
    if (!channel.isActive()) {
      return;
    }
    endOutput();
    super.progressed(isReadRequested);
    if (isInputEndReported() && !isLingering() && channel.isActive() && session().hasPeerClosed()) {
      channel.unsafe().close(channel.unsafe().voidPromise());
    }
  }

  @Override
  protected void onInputShutdown() {
    discardInput();
    channel.session().scheduleFlush(); // The receive window may have opened.
  }

  @Override
  protected Exception outputShutdownRefusal() {
    return session().isExtensionUnsupported()
        ? new UnsupportedOperationException("the peer has no half-close: " + channel)
        : null;
  }

  /** Tells the peer of the end of the output, once everything before is in the send queue. */
  @Override
  protected void endOutput() {
    if (!isOutputEnded && channel.isActive() && isOutputShutdown() && isQueued()) {
      isOutputEnded = true;
      channel.session().shutdownOutput();
    }
  }

  @Override
  protected boolean isOutputEnded() {
    return isOutputEnded;
  }

  @Override
  protected void discardInput() {
    channel.reader().discard();
  }

  @Override
  protected boolean isAtInputEnd() {
    return channel.isActive() && session().isInputFinished() && channel.reader().isDrained();
  }

  @Override
  protected boolean failIncompleteInput() {
    if (!session().isInputIncomplete()) {
      return false;
    }
    channel.endpoint().flush(session()); // The peer awaits an answer.
    channel.ended(EndReason.INPUT_INCOMPLETE);
    return true;
  }

  @Override
  protected boolean isHalfClosureAllowed() {
    return channel.config().isAllowHalfClosure();
  }
}
