package io.kcp4j.lab;

/** A value at each step of a {@link CongestionRun}. */
final class TimeSeries {

  private final long[] values;

  /** Makes a series of zeros, from step 0 to the last one. */
  TimeSeries(int lastStep) {
    values = new long[lastStep + 1];
  }

  void set(int step, long value) {
    values[step] = value;
  }

  long get(int step) {
    return values[step];
  }

  /** How many steps there are. */
  int steps() {
    return values.length;
  }

  /** The mean of so many steps. */
  double mean(int from, int steps) {
    double sum = 0;
    for (int step = from; step < from + steps; step++) {
      sum += values[step];
    }
    return sum / steps;
  }
}
