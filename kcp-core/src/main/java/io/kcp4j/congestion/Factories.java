package io.kcp4j.congestion;

/** The constants of {@link CongestionControl}, whose initialisation may not wait for subclasses. */
final class Factories {

  static final CongestionControl.Factory NONE = mssBytes -> NoCongestionControl.INSTANCE;

  static final CongestionControl.Factory RENO = RenoCongestionControl::new;

  static final CongestionControl.Factory BBR = BbrCongestionControl::new;

  private Factories() {}
}
