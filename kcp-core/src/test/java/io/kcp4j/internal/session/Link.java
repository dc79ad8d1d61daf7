package io.kcp4j.internal.session;

import java.util.EnumSet;
import java.util.Set;

/** The path of a cell of {@link EndingTest}: a round trip of 40 ms. */
enum Link {
  CLEAN(0, 1),
  /** A datagram of 20 is lost, in each direction. */
  LOSSY(0.05, 3),
  /** The reader of the side that lives longer goes on 6 s after the end. */
  PAUSED_READER(0, 1);

  static final Set<Link> ALL = EnumSet.allOf(Link.class);
  static final int DELAY_US = 20_000;
  static final int PAUSE_US = 6_000_000;

  final double loss;
  final int seeds;

  Link(double loss, int seeds) {
    this.loss = loss;
    this.seeds = seeds;
  }
}
