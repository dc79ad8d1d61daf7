package io.kcp4j;

/** Leaves it to the windows. */
final class NoCongestionControl implements CongestionControl {

  static final NoCongestionControl INSTANCE = new NoCongestionControl();

  private NoCongestionControl() {}

  @Override
  public int window() {
    return Integer.MAX_VALUE;
  }

  @Override
  public void onAcknowledged(int remoteWindow) {}

  @Override
  public void onFastRetransmit(int inFlight, int fastRetransmit) {}

  @Override
  public void onTimeout(int effectiveWindow) {}

  @Override
  public void onMssChanged(int mssBytes) {}
}
