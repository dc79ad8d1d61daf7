package io.kcp4j.netty;

import io.netty.channel.ChannelPromise;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Completes the promises of writes that have been sent or dropped, in this order. It does so after
 * the session has finished its work, because their listeners may use the session: when the session
 * has been flushed, or else in the next turn of the event loop. Used by the channel's event loop.
 */
final class WriteCompletions {

  /** A queue for so many is kept when it is empty. */
  private static final int KEPT = 1024;

  private final Executor eventLoop;
  private Deque<Runnable> decided = new ArrayDeque<>();
  private boolean isScheduled;

  WriteCompletions(Executor eventLoop) {
    this.eventLoop = eventLoop;
  }

  /** A write has been sent or dropped, and is to be completed. */
  void add(Runnable completion) {
    decided.add(completion);
    if (!isScheduled) {
      isScheduled = true;
      try {
        eventLoop.execute(
            () -> {
              isScheduled = false;
              run();
            });
      } catch (RejectedExecutionException e) {
        isScheduled = false; // The event loop has ended: the channel runs them when it closes.
      }
    }
  }

  /**
   * Completes what has been added. A listener may write again, and so drop others: those are
   * completed in the next turn.
   *
   * @return whether there was anything
   */
  boolean run() {
    int most = decided.size();
    Runnable completion;
    for (int left = most; left > 0 && (completion = decided.poll()) != null; left--) {
      completion.run();
    }
    if (most > KEPT && decided.isEmpty()) {
      decided = new ArrayDeque<>();
    }
    return most > 0;
  }

  /** Completes a promise; a failure is null, or not reported to a void promise. */
  static void complete(ChannelPromise promise, Throwable failure) {
    if (failure == null) {
      promise.trySuccess();
    } else if (!promise.isVoid()) { // A void promise would fire it through the pipeline.
      promise.tryFailure(failure);
    }
  }
}
