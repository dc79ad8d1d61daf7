package io.kcp4j.internal.congestion;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.LossSample;

/** Has no limits of its own. */
public final class NoCongestionControl implements CongestionControl {

  public static final NoCongestionControl INSTANCE = new NoCongestionControl();

  private NoCongestionControl() {}

  @Override
  public void onAck(AckSample sample) {}

  @Override
  public void onLoss(LossSample sample) {}

  @Override
  public void onMssChanged(int mssBytes) {}
}
