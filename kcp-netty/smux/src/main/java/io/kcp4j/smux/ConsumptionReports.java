package io.kcp4j.smux;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * The window updates of version 2 beyond those of Go's smux, which reports the first read of a
 * stream and then each half of its window. A sender to many streams cannot tell what such a peer
 * has read from what fills its receive buffer: up to half a window of each stream.
 *
 * <p>So this side reports earlier, at two limits of half a window. When the streams of a session
 * together have consumed as much without a report, all of them report. And while as much is unread,
 * each read is reported. A {@link SendBudget} relies on both.
 *
 * <p>It learns of them by a window update that reports less than half a window and is not the first
 * of its stream. In case no such update is due when it matters, the first one that leaves then is
 * repeated.
 */
final class ConsumptionReports {

  private final int limit;
  private final ReceiveQuota quota;
  private final ControlFrames control;
  private final Collection<SmuxStream> streams;

  /** Streams with consumed bytes that neither were reported nor will be by an update that waits. */
  private final Set<SmuxStream> unreported = new LinkedHashSet<>();

  private long unreportedBytes;

  /** Whether much is unread: from the limit on, until half of it is left. */
  private boolean isPressed;

  private boolean isSignalled;

  /**
   * Makes reports of a session.
   *
   * @param streams its streams, a view
   */
  ConsumptionReports(
      SmuxConfig config,
      ReceiveQuota quota,
      ControlFrames control,
      Collection<SmuxStream> streams) {
    limit = Math.max(1, config.maxStreamBuffer() / 2);
    this.quota = quota;
    this.control = control;
    this.streams = streams;
  }

  /** Input of a stream was read or discarded, or the stream has ended. */
  void changed(SmuxStream stream) {
    isPressed &= quota.used() >= limit / 2;
    StreamInput input = stream.input;
    boolean isReportable = isReportable(stream);
    if (isReportable && (input.isUpdateDue() || (isPressed && input.unreportedBytes() > 0))) {
      control.add(stream, ControlFrames.UPD);
    }
    boolean isWaiting = (stream.pendingControl & ControlFrames.UPD) != 0;
    count(stream, isReportable && !isWaiting ? input.unreportedBytes() : 0);
    if (unreportedBytes >= limit) {
      reportAll();
    }
  }

  /**
   * A stream that both sides have ended needs no reports. One in violation gets none, and neither
   * does one whose peer was asked to stop: it would take that back.
   */
  private static boolean isReportable(SmuxStream stream) {
    boolean areBothEnded = stream.input.hasFin() && stream.output.isFinSent;
    boolean isRefused = stream.isInViolation || stream.input.isStopRequested();
    return !stream.isOver && !areBothEnded && !isRefused;
  }

  private void count(SmuxStream stream, int bytes) {
    int before = stream.unreportedBytes;
    if (bytes == before) {
      return;
    }
    unreportedBytes += bytes - before;
    stream.unreportedBytes = bytes;
    if (before == 0) {
      unreported.add(stream);
    } else if (bytes == 0) {
      unreported.remove(stream);
    }
  }

  private void reportAll() {
    for (SmuxStream stream : unreported) {
      stream.unreportedBytes = 0;
      control.add(stream, ControlFrames.UPD);
    }
    unreported.clear();
    unreportedBytes = 0;
  }

  /** Something was received, and streams have read what they want of it. */
  void received() {
    if (!isPressed && quota.used() >= limit) {
      isPressed = true;
      reportAll();
      if (!isSignalled) {
        signal();
      }
    }
  }

  private void signal() {
    for (SmuxStream stream : streams) {
      if (isReportable(stream) && stream.input.isReported()) {
        control.add(stream, ControlFrames.UPD);
        return;
      }
    }
  }

  /** A window update of a stream has left. */
  void sent(SmuxStream stream) {
    if (isPressed && !isSignalled) {
      isSignalled = true;
      control.add(stream, ControlFrames.UPD);
    }
  }

  /** The session has ended. */
  void clear() {
    unreported.clear();
    unreportedBytes = 0;
  }
}
