package io.kcp4j.congestion;

/** The constants of {@link CongestionControl}, whose initialisation may not wait for subclasses. */
final class Factories {

  static final CongestionControl.Factory NONE = mssBytes -> NoCongestionControl.INSTANCE;

  static final CongestionControl.Factory RENO = RenoCongestionControl::new;

  static final CongestionControl.Factory BBR = BbrCongestionControl::new;

  private Factories() {}

  static CongestionControl.Factory of(String name) {
    return switch (name) {
      case "none" -> NONE;
      case "reno" -> RENO;
      case "bbr" -> BBR;
      default ->
          throw new IllegalArgumentException(
              "congestion control: " + name + " (expected: none, reno or bbr)");
    };
  }
}
