package io.kcp4j.smux;

import io.kcp4j.internal.scheduling.WeightedScheduler;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.TreeSet;
import java.util.function.IntSupplier;

/**
 * Chooses which stream sends the next data frame, and how much. Only streams whose window and
 * budget have room are in the scheduler. The others wait for a window update, or in a queue for the
 * shared part of the budget, from which one stream at a time is taken. That queue is in the order
 * of arrival or, where the budget divides what is left, by what is outstanding: if the first stream
 * cannot go on, no other can. So many streams make no frame and no window update much slower.
 */
final class OutputScheduler {

  /** Of a frame, while several streams are open: at 2 MB/s another stream waits 4 ms for it. */
  private static final int MAX_INTERLEAVED_PAYLOAD = 8192;

  /** Consecutive frames of a stream: its receiver can often forward them by one write. */
  private static final int TURN_BYTES = 32 * 1024;

  /** Payload up to this size is copied behind its header: cheaper than a composite buffer. */
  private static final int COPIED_BYTES = 504;

  private final SmuxConfig config;
  private final ControlFrames control;
  private final StreamTimeouts stalls;
  private final IntSupplier openStreams;
  private final SendBudget budget;
  private final WeightedScheduler<SmuxStream> scheduler = new WeightedScheduler<>(TURN_BYTES);
  private final TreeSet<SmuxStream> waiting =
      new TreeSet<>(
          Comparator.<SmuxStream>comparingLong(stream -> stream.output.waitingKey)
              .thenComparingInt(SmuxStream::id));

  private long arrivals;
  private long bytes;

  /**
   * Without streams at first.
   *
   * @param stalls gets streams that are blocked after the end of their input
   * @param openStreams how many streams are open
   */
  OutputScheduler(
      SmuxConfig config, ControlFrames control, StreamTimeouts stalls, IntSupplier openStreams) {
    this.config = config;
    this.control = control;
    this.stalls = stalls;
    this.openStreams = openStreams;
    // As many may be closing as may be open.
    budget = new SendBudget(config.peerReceiveBuffer(), 2 * config.maxStreams());
  }

  /** The payload that was sent, in bytes. */
  long bytes() {
    return bytes;
  }

  /** In version 2, what was sent and not reported as read, in bytes. */
  long outstanding() {
    return budget.outstanding();
  }

  /** A stream has data to send, perhaps. */
  void ready(SmuxStream stream) {
    StreamOutput output = stream.output;
    if (output.state == StreamOutput.State.IDLE && !output.isShutdown && output.hasData()) {
      enqueue(stream);
    }
  }

  /** The FIN follows when the source has been drained. */
  void shutdown(SmuxStream stream) {
    StreamOutput output = stream.output;
    if (output.isShutdown) {
      return;
    }
    output.isShutdown = true;
    if (!output.hasData()) {
      drained(stream);
    } else if (output.state == StreamOutput.State.IDLE) {
      enqueue(stream);
    }
  }

  /** The source is not asked any more; the FIN follows at once. */
  void stop(SmuxStream stream) {
    StreamOutput output = stream.output;
    output.isStopped = true;
    if (!output.isShutdown) {
      shutdown(stream);
    } else if (output.state != StreamOutput.State.IDLE) {
      drained(stream);
    }
  }

  /** The session has ended: nothing follows. */
  void abandon(SmuxStream stream) {
    stream.output.isStopped = true;
    leave(stream);
    forget(stream);
  }

  /** The end of the input was reached: from now on a blocked stream has a timeout. */
  void inputEnded(SmuxStream stream) {
    if (stream.output.isBlocked()) {
      stalls.add(stream);
    }
  }

  /** Takes a window update, and returns whether it is true. */
  boolean windowUpdated(SmuxStream stream, int consumed, int window) {
    StreamOutput output = stream.output;
    boolean isEarly = output.window.isEarly(consumed, window);
    int released = output.window.update(consumed, window);
    if (released < 0) {
      return false;
    }
    budget.released(released);
    if (isEarly && !budget.isPeerEarly() && budget.reportedEarly(window)) {
      sortWaiting();
    }
    if (output.isBlocked()) {
      if (released > 0) {
        stalls.remove(stream);
      }
      leave(stream);
      enqueue(stream);
    }
    return true;
  }

  /** The peer holds nothing of a stream any more. */
  void forget(SmuxStream stream) {
    if (stream.output.window != null) {
      budget.released(stream.output.window.forget());
    }
  }

  void classify(SmuxStream stream, int priority, int weight) {
    scheduler.classify(stream.output.turn, priority, weight);
  }

  /** How much flow control lets a stream send, in bytes. */
  int available(SmuxStream stream) {
    SendWindow window = stream.output.window;
    return window == null
        ? Integer.MAX_VALUE
        : Math.max(0, Math.min(window.available(), budget.available(window)));
  }

  private void enqueue(SmuxStream stream) {
    if (available(stream) > 0) {
      stream.output.state = StreamOutput.State.QUEUED;
      scheduler.add(stream.output.turn);
      stalls.remove(stream);
    } else {
      block(stream);
    }
  }

  private void block(SmuxStream stream) {
    StreamOutput output = stream.output;
    if (output.window.available() <= 0) {
      output.state = StreamOutput.State.WINDOW_BLOCKED;
    } else {
      output.state = StreamOutput.State.BUDGET_BLOCKED;
      addWaiting(stream);
    }
    if (stream.input.isEnded()) {
      stalls.add(stream);
    }
  }

  private void addWaiting(SmuxStream stream) {
    StreamOutput output = stream.output;
    output.waitingKey = budget.isPeerEarly() ? output.window.outstanding() : arrivals++;
    waiting.add(stream);
  }

  private void sortWaiting() {
    List<SmuxStream> streams = new ArrayList<>(waiting);
    waiting.clear();
    streams.forEach(this::addWaiting);
  }

  private void leave(SmuxStream stream) {
    StreamOutput output = stream.output;
    scheduler.remove(output.turn);
    if (output.state == StreamOutput.State.BUDGET_BLOCKED) {
      waiting.remove(stream);
    }
    output.state = StreamOutput.State.IDLE;
  }

  /**
   * Whether there is a data frame. Streams that turn out to have no data, or no room for it, leave
   * the scheduler, which may add a FIN to the control frames.
   */
  boolean isReady() {
    takeWaiting();
    while (true) {
      SmuxStream stream = scheduler.peek();
      if (stream == null) {
        if (!takeWaiting()) {
          return false;
        }
      } else if (!stream.output.hasData()) {
        drained(stream);
      } else if (available(stream) > 0) {
        return true;
      } else {
        scheduler.remove(stream.output.turn);
        block(stream);
      }
    }
  }

  /** Moves a stream that waits for the shared budget to the scheduler, if there is room. */
  private boolean takeWaiting() {
    if (waiting.isEmpty() || available(waiting.first()) == 0) {
      return false;
    }
    SmuxStream stream = waiting.first();
    leave(stream);
    enqueue(stream);
    return true;
  }

  private void drained(SmuxStream stream) {
    leave(stream);
    stalls.remove(stream);
    if (stream.output.isShutdown) {
      control.add(stream, ControlFrames.FIN);
    }
  }

  /** Takes the next frame. To be called only if {@link #isReady}. */
  ByteBuf next(ByteBufAllocator allocator) {
    SmuxStream stream = scheduler.peek();
    int max = Math.min(maxFrameBytes(), available(stream));
    ByteBuf frame = allocator.buffer(FrameHeader.BYTES + Math.min(max, COPIED_BYTES));
    ByteBuf payload = take(stream.output.source, max, frame);
    int length = payload.readableBytes();
    FrameHeader.write(frame, config.version(), FrameHeader.PSH, length, stream.id());
    sent(stream, length);
    if (length <= COPIED_BYTES) {
      frame.writeBytes(payload);
      payload.release();
      return frame;
    }
    CompositeByteBuf composite = allocator.compositeBuffer(2);
    return composite.addComponents(true, frame, payload);
  }

  private int maxFrameBytes() {
    return openStreams.getAsInt() > 1
        ? Math.min(config.maxFrameSize(), MAX_INTERLEAVED_PAYLOAD)
        : config.maxFrameSize();
  }

  private static ByteBuf take(SmuxStreamSource source, int max, ByteBuf frame) {
    ByteBuf payload = null;
    try {
      payload = source.take(max);
      int length = payload.readableBytes();
      if (length < 1 || length > max) {
        throw new IllegalStateException(
            "source gave " + length + " bytes (expected: 1 to " + max + ")");
      }
      return payload;
    } catch (RuntimeException | Error e) { // The allocator may have no memory.
      frame.release();
      if (payload != null) {
        payload.release();
      }
      throw e;
    }
  }

  private void sent(SmuxStream stream, int length) {
    StreamOutput output = stream.output;
    bytes += length;
    if (output.window != null) {
      output.window.sent(length);
      budget.sent(length);
    }
    scheduler.charge(output.turn, FrameHeader.BYTES + length);
    if (!output.hasData()) {
      drained(stream);
    } else if (available(stream) == 0) {
      scheduler.remove(output.turn);
      block(stream);
    }
  }
}
