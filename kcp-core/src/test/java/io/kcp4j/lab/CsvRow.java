package io.kcp4j.lab;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A {@link CellResult} as a row of CSV. */
final class CsvRow {

  private static final List<String> CELL_COLUMNS =
      List.of(
          "workload",
          "variant",
          "messages_per_tick",
          "message_bytes",
          "ticks_per_s",
          "loss_percent",
          "burst_ms",
          "step_at_s",
          "step_loss_percent",
          "rtt_ms",
          "jitter_ms",
          "rate_mbps",
          "queue_bytes",
          "from_s",
          "seconds",
          "seed");

  private static final List<String> RESULT_COLUMNS =
      List.of("measured", "p50_ms", "p99_ms", "p99.8_ms", "p99.9_ms", "max_ms", "bulk_mbps");

  private static final List<String> DIRECTION_COLUMNS =
      List.of(
          "datagrams",
          "bytes",
          "lost",
          "dropped",
          "reordered",
          "segments",
          "retransmitted",
          "copies",
          "parity",
          "spurious",
          "duplicates",
          "recovered",
          "spurious_percent");

  static final String HEADER = header();

  private static final double US_PER_MS = 1e3;

  private static final long US_PER_S = 1_000_000;

  private final List<String> values = new ArrayList<>();

  private CsvRow() {}

  private static String header() {
    List<String> columns = new ArrayList<>(CELL_COLUMNS);
    columns.addAll(RESULT_COLUMNS);
    DIRECTION_COLUMNS.forEach(column -> columns.add("up_" + column));
    DIRECTION_COLUMNS.forEach(column -> columns.add("down_" + column));
    return String.join(",", columns);
  }

  static String of(CellResult result) {
    CsvRow row = new CsvRow();
    row.add(result.cell());
    row.add(result);
    row.add(result.up());
    row.add(result.down());
    return String.join(",", row.values);
  }

  private void add(Cell cell) {
    LinkSettings link = cell.link();
    values.add(cell.workload().name().toLowerCase(Locale.ROOT).replace('_', '-'));
    values.add(cell.variant().name());
    add(cell.traffic().messages());
    add(cell.traffic().messageBytes());
    add("%.3f", cell.traffic().ticksPerSecond());
    values.add(percent(link.loss()));
    add("%.3f", link.burstUs() / US_PER_MS);
    boolean hasStep = link.stepAtUs() != LinkSettings.NO_STEP;
    values.add(hasStep ? Long.toString(link.stepAtUs() / US_PER_S) : "");
    values.add(hasStep ? percent(link.stepLoss()) : "");
    add("%.3f", 2 * link.delayUs() / US_PER_MS);
    add("%.3f", link.jitterUs() / US_PER_MS);
    add("%.3f", link.bitsPerSecond() / 1e6);
    add(link.queueBytes());
    add(cell.fromSeconds());
    add(cell.seconds());
    add(cell.seed());
  }

  private void add(CellResult result) {
    add(result.latencies().count());
    for (double share : new double[] {0.5, 0.99, 0.998, 0.999}) {
      add("%.2f", result.quantileUs(share) / US_PER_MS);
    }
    add("%.2f", result.latencies().maxUs() / US_PER_MS);
    add("%.3f", result.bulkMbps());
  }

  private void add(CellResult.Direction direction) {
    add(direction.datagrams());
    add(direction.bytes());
    add(direction.lost());
    add(direction.dropped());
    add(direction.reordered());
    add(direction.segments());
    add(direction.retransmitted());
    add(direction.copies());
    add(direction.parity());
    add(direction.spurious());
    add(direction.duplicates());
    add(direction.recovered());
    values.add(percent(direction.spuriousShare()));
  }

  private void add(long value) {
    values.add(Long.toString(value));
  }

  private void add(String format, double value) {
    values.add(String.format(Locale.ROOT, format, value));
  }

  private static String percent(double share) {
    return String.format(Locale.ROOT, "%.4f", share * 100);
  }
}
