package io.kcp4j.lab;

/** What the sessions of a cell do. */
enum Workload {
  /** A game: the server echoes every message; round trips are measured. */
  GAME(true, true, false),

  /** The same traffic one way; the time to the server's reader is measured. */
  ONE_WAY(true, false, false),

  /** One way, as fast as the session takes it; the rate is measured. */
  BULK(false, false, true),

  /** A game and, in a session of its own from the same client, bulk data. */
  SHARED(true, true, true);

  final boolean hasTicks;
  final boolean isEchoed;
  final boolean hasBulk;

  Workload(boolean hasTicks, boolean isEchoed, boolean hasBulk) {
    this.hasTicks = hasTicks;
    this.isEchoed = isEchoed;
    this.hasBulk = hasBulk;
  }
}
