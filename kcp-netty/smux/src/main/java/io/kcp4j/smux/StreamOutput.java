package io.kcp4j.smux;

import io.kcp4j.internal.scheduling.WeightedScheduler;

/** What a stream sends: its source, its window, and whether it waits for something. */
final class StreamOutput {

  /** What the data of a stream waits for. */
  enum State {
    /** For the source, which has nothing. */
    IDLE,
    /** For its turn. */
    QUEUED,
    /** For the peer's window of the stream. */
    WINDOW_BLOCKED,
    /** For the stream's part of the peer's receive buffer. */
    BUDGET_BLOCKED
  }

  final WeightedScheduler.Entry<SmuxStream> turn;

  /** Null in version 1. */
  final SendWindow window;

  SmuxStreamSource source;
  State state = State.IDLE;

  /** The place in the queue for the budget. */
  long waitingKey;

  /** After the source has been drained, or at once when stopped, the FIN follows. */
  boolean isShutdown;

  /** The source is not asked any more. */
  boolean isStopped;

  /** The peer reads no more of the stream, which is to be accepted first. */
  boolean isStopPending;

  boolean isFinSent;

  StreamOutput(SmuxStream stream, boolean hasWindow) {
    turn =
        new WeightedScheduler.Entry<>(
            stream, SmuxStream.DEFAULT_PRIORITY, SmuxStream.DEFAULT_WEIGHT);
    window = hasWindow ? new SendWindow() : null;
  }

  boolean isBlocked() {
    return state == State.WINDOW_BLOCKED || state == State.BUDGET_BLOCKED;
  }

  /** Whether there is data to send. */
  boolean hasData() {
    return !isStopped && source != null && !source.isEmpty();
  }
}
