package io.kcp4j.smux;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayDeque;

/** What the frames of the peer change. */
final class IncomingFrames implements FrameReader.Handler {

  private final SmuxSession session;
  private final SmuxSessionListener listener;
  private final StreamTable table;
  private final StreamLifecycle lifecycle;
  private final ReceiveQuota quota;
  private final StreamAdmission admission;
  private final ConnectionMemory memory;

  /** Streams whose listeners will be told of input. */
  private final ArrayDeque<SmuxStream> withInput = new ArrayDeque<>();

  /** Streams that wait until the peer has proven its address. */
  private final ArrayDeque<SmuxStream> waiting = new ArrayDeque<>();

  private final ArrayDeque<ByteBuf> scratch = new ArrayDeque<>();
  private long accepted;
  private long refused;
  private long bytes;
  private long discardedBytes;
  private long violations;

  IncomingFrames(
      SmuxSession session,
      SmuxSessionListener listener,
      StreamTable table,
      StreamLifecycle lifecycle,
      ReceiveQuota quota,
      StreamAdmission admission,
      ConnectionMemory memory) {
    this.session = session;
    this.listener = listener;
    this.table = table;
    this.lifecycle = lifecycle;
    this.quota = quota;
    this.admission = admission;
    this.memory = memory;
  }

  long accepted() {
    return accepted;
  }

  long refused() {
    return refused;
  }

  /** Payload received, in bytes. */
  long bytes() {
    return bytes;
  }

  long discardedBytes() {
    return discardedBytes;
  }

  long violations() {
    return violations;
  }

  @Override
  public boolean isDone() {
    return session.failure() != null;
  }

  @Override
  public void opened(int streamId) {
    if (table.get(streamId) != null) {
      violations++;
    } else if (!admission.admit(table.open(), session.nowMs())) {
      refuse(streamId);
    } else if (!lifecycle.makeRoom()) {
      refused++;
    } else {
      addStream(streamId);
    }
  }

  /** Without room for one more closing stream, there is not even a FIN. */
  private void refuse(int streamId) {
    refused++;
    SmuxStream stream = new SmuxStream(session, streamId);
    if (table.closing() < session.config().maxStreams() && table.tryAddPeerStream(stream)) {
      lifecycle.close(stream);
    }
  }

  private void addStream(int streamId) {
    SmuxStream stream = new SmuxStream(session, streamId);
    if (!table.tryAddPeerStream(stream)) {
      refused++;
    } else if (admission.isToWait(accepted)) {
      waiting.add(stream);
      memory.validatePeer();
    } else {
      accept(stream);
    }
  }

  /** Accepts the streams that have waited, if the peer has proven its address. */
  void acceptWaiting() {
    while (!waiting.isEmpty() && !admission.isToWait(accepted) && !isDone()) {
      SmuxStream stream = waiting.remove();
      if (!stream.isClosed) {
        accept(stream);
        if (stream.readableBytes() > 0 || stream.isInputEnded()) {
          inputArrived(stream);
        }
        if (stream.output.isStopPending) {
          lifecycle.stoppedByPeer(stream);
        }
      }
    }
  }

  private void accept(SmuxStream stream) {
    try {
      stream.listener = listener.streamOpened(stream);
    } finally {
      if (stream.listener == null) {
        refused++;
        lifecycle.close(stream);
      } else {
        accepted++;
      }
    }
    if (stream.listener != null && session.failure() != null) {
      stream.listener.failed(stream, session.failure());
    }
  }

  @Override
  public void ended(int streamId) {
    SmuxStream stream = table.get(streamId);
    if (stream == null) {
      return;
    }
    if (stream.input.hasFin()) {
      // Go sends another one when a stream is closed whose output had been ended before.
      lifecycle.stoppedByPeer(stream);
    } else {
      lifecycle.fin(stream);
      inputArrived(stream);
    }
  }

  @Override
  public void windowUpdated(int streamId, int consumed, int window) {
    SmuxStream stream = table.get(streamId);
    if (stream == null) {
      return;
    }
    if (stream.output.window.isStop(consumed, window)) {
      lifecycle.stoppedByPeer(stream);
    } else if (!lifecycle.output().windowUpdated(stream, consumed, window)) {
      violations++;
    }
  }

  @Override
  public void payload(int streamId, ByteBuf in, int length) {
    bytes += length;
    SmuxStream stream = table.get(streamId);
    if (stream == null || stream.isClosed || stream.input.hasFin()) {
      in.skipBytes(length);
      discarded(stream, length);
    } else if (!stream.input.admits(length)) {
      violations++;
      discardedBytes += length;
      in.skipBytes(length);
      stream.isInViolation = true;
      lifecycle.cut(stream, "the peer has sent beyond the window");
    } else {
      stream.input.add(in.readRetainedSlice(length), quota);
      inputArrived(stream);
    }
  }

  private void discarded(SmuxStream stream, int length) {
    discardedBytes += length;
    if (stream == null) {
      return;
    }
    if (stream.input.hasFin()) {
      violations++;
    } else {
      stream.input.discard(length);
      lifecycle.afterInput(stream);
    }
  }

  private void inputArrived(SmuxStream stream) {
    if (!stream.isInputPending && !stream.isClosed) {
      stream.isInputPending = true;
      withInput.addLast(stream);
    }
  }

  /** Tells listeners what has arrived, and copies what they leave. */
  void report(ByteBufAllocator allocator) {
    for (SmuxStream stream; (stream = withInput.pollFirst()) != null; ) {
      stream.isInputPending = false;
      if (!stream.isClosed) {
        if (stream.listener != null) {
          stream.listener.inputReady(stream);
        }
        stream.input.copySlices(allocator, scratch, quota);
      }
    }
  }
}
