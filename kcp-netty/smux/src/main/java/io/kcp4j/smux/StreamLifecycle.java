package io.kcp4j.smux;

import java.util.ArrayList;
import java.util.List;

/**
 * The beginning and the end of streams. A stream is open until its user closes it, or until both
 * FINs are exchanged and everything is read. One that was closed is closing: what the peer still
 * sends is discarded. It is over with the peer's FIN, or when the time for that has passed.
 *
 * <p>A peer that goes on to send on a closing stream is asked to stop, as by STOP_SENDING of QUIC.
 * Credit alone cannot do so: without it, Go's writers wait, and do not wake at our FIN.
 */
final class StreamLifecycle {

  private final SmuxConfig config;
  private final StreamTable table;
  private final ReceiveQuota quota;
  private final ControlFrames control;
  private final OutputScheduler output;
  private final ConsumptionReports reports;

  /** Closed here, and wait for the peer's FIN. */
  private final StreamTimeouts closings;

  /** Blocked after the peer's FIN. */
  private final StreamTimeouts stalls;

  private long cut;

  StreamLifecycle(SmuxConfig config, StreamTable table, ReceiveQuota quota) {
    this.config = config;
    this.table = table;
    this.quota = quota;
    control = new ControlFrames(config.version(), this::finSent, this::updateSent);
    reports = new ConsumptionReports(config, quota, control, table.all());
    closings = new StreamTimeouts(config.closeTimeoutMs());
    stalls = new StreamTimeouts(config.closeTimeoutMs());
    output = new OutputScheduler(config, control, stalls, table::open);
  }

  ControlFrames control() {
    return control;
  }

  OutputScheduler output() {
    return output;
  }

  /** Streams that have failed alone. */
  long cut() {
    return cut;
  }

  /** Closes a stream, unless it is closed. */
  void close(SmuxStream stream) {
    if (stream.isClosed) {
      return;
    }
    stream.isClosed = true;
    if (stream.isOver) {
      return;
    }
    table.closed();
    stream.input.close(quota);
    output.stop(stream);
    if (!stream.input.hasFin()) {
      closings.add(stream);
    }
    afterInput(stream);
  }

  /** Closes an open stream because of what its peer or its user does. */
  void cut(SmuxStream stream, String reason) {
    cut++;
    close(stream);
    if (stream.listener != null) {
      stream.listener.failed(stream, new SmuxException(stream + ": " + reason));
    }
  }

  /** The peer's FIN has arrived. */
  void fin(SmuxStream stream) {
    stream.input.fin();
    control.cancel(stream, ControlFrames.STOP);
    closings.remove(stream);
    afterInput(stream);
  }

  /** Input was read or discarded, or has ended. */
  void afterInput(SmuxStream stream) {
    StreamInput input = stream.input;
    if (input.isEnded() && !stream.isClosed) {
      output.inputEnded(stream);
    }
    stopPeerIfDue(stream);
    reports.changed(stream);
    removeIfOver(stream);
  }

  /** Not before our FIN has left: until then the peer may have more to read. */
  private void stopPeerIfDue(SmuxStream stream) {
    if (stream.isClosed && stream.output.isFinSent && stream.input.isStopDue()) {
      stopPeer(stream);
    }
  }

  private void stopPeer(SmuxStream stream) {
    stream.input.requestStop();
    control.add(stream, ControlFrames.STOP);
  }

  /** The peer reads no more of a stream: what waits to be sent is dropped, and FIN follows. */
  void stoppedByPeer(SmuxStream stream) {
    boolean isWaiting = stream.listener == null && !stream.isClosed;
    stream.output.isStopPending = isWaiting;
    if (isWaiting) {
      return;
    }
    output.forget(stream);
    if (!stream.output.isStopped && !stream.output.isFinSent) {
      output.stop(stream);
      String reason = stream + ": the peer has closed it and reads no more";
      stream.listener.outputStopped(stream, new SmuxException(reason));
    }
  }

  /** Something was received, and streams have read what they want of it. */
  void received() {
    reports.received();
  }

  private void updateSent(SmuxStream stream) {
    reports.sent(stream);
  }

  private void finSent(SmuxStream stream) {
    stream.output.isFinSent = true;
    if (!stream.isClosed && stream.listener != null) {
      stream.listener.outputEnded(stream);
    }
    stopPeerIfDue(stream);
    reports.changed(stream);
    removeIfOver(stream);
  }

  /** The time for the peer's FIN is over. What the peer sends later is for no stream. */
  private void abandon(SmuxStream stream) {
    stream.isAbandoned = true;
    if (!stream.input.isStopRequested()) {
      stopPeer(stream);
    }
    removeIfOver(stream);
  }

  /** What a peer has not read of a stream is freed there when it has both FINs. */
  private void removeIfOver(SmuxStream stream) {
    if (stream.isOver || !stream.output.isFinSent) {
      return;
    }
    StreamInput input = stream.input;
    if (input.hasFin() || stream.isAbandoned) {
      output.forget(stream);
      if (stream.isClosed || input.isEnded()) {
        stream.isOver = true;
        table.remove(stream);
        closings.remove(stream);
        reports.changed(stream);
      }
    }
  }

  /**
   * Makes room for one more closing stream, by giving up those that wait longest for the peer's
   * FIN. Returns false if there is no room.
   */
  boolean makeRoom() {
    while (table.closing() >= config.maxStreams()) {
      SmuxStream oldest = closings.first();
      if (oldest == null || !oldest.output.isFinSent) {
        return false;
      }
      closings.remove(oldest);
      abandon(oldest);
    }
    return true;
  }

  /** Does what is due. */
  void runTimers(long nowMs) {
    closings.expire(nowMs, this::abandon);
    stalls.expire(nowMs, stream -> cut(stream, "the peer has ended it and reads no more"));
    quota.updateShortage();
    // In version 1 a stream that is not read is the only flow control that there is.
    if (config.version() == 2 && quota.isCutDue(nowMs)) {
      cutStalled(nowMs);
    }
  }

  private void cutStalled(long nowMs) {
    SmuxStream largest = null;
    int most = 0;
    for (SmuxStream stream : table.all()) {
      if (stream.input.isStalled(quota.period()) && stream.readableBytes() > most) {
        largest = stream;
        most = stream.readableBytes();
      }
    }
    if (largest == null) {
      quota.beginPeriod(nowMs);
    } else {
      cut(largest, most + " bytes unread while the receive buffer is full");
    }
  }

  /** After how many milliseconds something is due. */
  long delayMs(long nowMs) {
    long timeoutsMs = Math.min(closings.delayMs(nowMs), stalls.delayMs(nowMs));
    return Math.min(timeoutsMs, quota.delayMs(nowMs));
  }

  /** Ends all streams because the session has failed. */
  void fail(Throwable cause) {
    List<SmuxStream> failed = new ArrayList<>();
    for (SmuxStream stream : table.all()) {
      stream.isOver = true;
      output.abandon(stream);
      if (!stream.isClosed) {
        stream.isClosed = true;
        stream.input.close(quota);
        failed.add(stream);
      }
    }
    table.clear();
    control.clear();
    reports.clear();
    closings.clear();
    stalls.clear();
    for (SmuxStream stream : failed) {
      if (stream.listener != null) {
        stream.listener.failed(stream, cause);
      }
    }
  }
}
