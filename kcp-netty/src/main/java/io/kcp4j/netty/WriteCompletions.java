package io.kcp4j.netty;

import io.netty.channel.ChannelPromise;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;

/**
 * Completes the promises of writes that have been sent or dropped, in this order. It does so after
 * the session has finished its work, because their listeners may use the session. Used by the
 * channel's event loop.
 */
final class WriteCompletions {

  private final Executor eventLoop;
  private final Deque<Runnable> decided = new ArrayDeque<>();
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
        eventLoop.execute(this::run);
      } catch (RejectedExecutionException e) {
        isScheduled = false; // The event loop has ended: the channel runs them when it closes.
      }
    }
  }

  /** A listener may write again, and so drop others: those are completed in the next turn. */
  void run() {
    isScheduled = false;
    Runnable completion;
    for (int left = decided.size(); left > 0 && (completion = decided.poll()) != null; left--) {
      completion.run();
    }
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
