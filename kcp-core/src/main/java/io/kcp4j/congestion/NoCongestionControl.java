package io.kcp4j.congestion;

/** Has no limits of its own. */
final class NoCongestionControl implements CongestionControl {

  static final NoCongestionControl INSTANCE = new NoCongestionControl();

  private NoCongestionControl() {}

  @Override
  public void onAck(AckSample sample) {}

  @Override
  public void onLoss(LossSample sample) {}

  @Override
  public void onMssChanged(int mssBytes) {}
}
