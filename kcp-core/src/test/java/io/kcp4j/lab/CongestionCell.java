package io.kcp4j.lab;

import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;

/**
 * One cell of the congestion lab.
 *
 * @param line the number of the line that it belongs to
 * @param label its settings
 * @param figures runs it
 */
record CongestionCell(int line, String label, Supplier<List<CongestionCell.Figure>> figures) {

  /**
   * What a cell has measured.
   *
   * @param unit what follows the value
   * @param isMet whether it is within its limit
   */
  record Figure(String name, double value, String unit, boolean isMet) {

    static Figure atLeast(String name, double value, String unit, double limit) {
      return new Figure(name, value, unit, value >= limit);
    }

    static Figure atMost(String name, double value, String unit, double limit) {
      return new Figure(name, value, unit, value <= limit);
    }

    static Figure of(String name, double value, String unit) {
      return new Figure(name, value, unit, true);
    }

    @Override
    public String toString() {
      String format = isMet ? "%s %.1f%s" : "%s %.1f%s!";
      return String.format(Locale.ROOT, format, name, value, unit);
    }
  }
}
