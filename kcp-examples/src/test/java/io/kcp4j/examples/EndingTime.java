package io.kcp4j.examples;

/**
 * How long an ending took.
 *
 * @param ms until the other application was told
 * @param probeTimeoutMs the probe timeout of the session, the larger one of both sides; 0 for TCP
 */
record EndingTime(double ms, double probeTimeoutMs) {

  static EndingTime between(long fromNs, EndingEvent told) {
    return new EndingTime((told.atNs() - fromNs) / 1e6, told.probeTimeoutMs());
  }

  static EndingTime between(EndingEvent end, EndingEvent told) {
    double probeTimeoutMs = Math.max(end.probeTimeoutMs(), told.probeTimeoutMs());
    return new EndingTime((told.atNs() - end.atNs()) / 1e6, probeTimeoutMs);
  }
}
