package io.kcp4j.internal.arq;

import io.kcp4j.KcpConfig;

/**
 * Opens to tests in other packages the constructor for sessions that begin near a wrap, and time.
 */
public final class KcpStarts {

  private KcpStarts() {}

  /** Makes a session whose first sequence number, both ways, is {@code firstSn}. */
  public static Kcp kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin, int firstSn) {
    return new Kcp(conv, config, context, tsOrigin, firstSn);
  }

  /** The timestamp of what a session sends now. */
  public static int timestamp(Kcp kcp, long nowUs) {
    return kcp.sender.timestamps.at(nowUs);
  }
}
