package io.kcp4j.examples;

import io.kcp4j.examples.PerfProtocol.End;
import io.kcp4j.examples.PerfProtocol.Report;
import java.util.function.Consumer;

/** One side of a throughput measurement, sender or receiver. It succeeds with the final report. */
abstract class PerfSide extends SessionHandler {

  /**
   * What was measured.
   *
   * @param report the receiver's
   * @param end the sender's
   */
  record Result(Report report, End end) {}

  private final Consumer<Report> onReport;
  private volatile Result result;

  /**
   * Makes a side.
   *
   * @param onReport receives every report, on the event loop
   */
  PerfSide(Consumer<Report> onReport) {
    this.onReport = onReport;
  }

  /** The latest result, null before the first report; for any thread. */
  final Result result() {
    return result;
  }

  final void show(Report report, End end) {
    result = new Result(report, end);
    onReport.accept(report);
    if (report.isFinal()) {
      succeed();
    }
  }
}
