package io.kcp4j.internal.session;

import io.kcp4j.Delivery;
import java.util.EnumSet;
import java.util.Set;

/** What the session of a cell of {@link EndingTest} carries. */
enum Carrier {
  STREAM(Delivery.STREAM),
  MESSAGE(Delivery.MESSAGE),
  LANES(Delivery.LANES),
  /** One stream of smux over a byte stream. */
  SMUX(Delivery.STREAM);

  static final Set<Carrier> ALL = EnumSet.allOf(Carrier.class);

  final Delivery delivery;

  Carrier(Delivery delivery) {
    this.delivery = delivery;
  }
}
