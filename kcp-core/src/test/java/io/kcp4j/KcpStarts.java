package io.kcp4j;

/** Opens to tests in other packages the constructor for sessions that begin near a wrap. */
public final class KcpStarts {

  private KcpStarts() {}

  /** Makes a session whose first sequence number, both ways, is {@code firstSn}. */
  public static Kcp kcp(int conv, KcpConfig config, KcpContext context, int tsOrigin, int firstSn) {
    return new Kcp(conv, config, context, tsOrigin, firstSn);
  }
}
