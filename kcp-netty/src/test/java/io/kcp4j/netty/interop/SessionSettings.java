package io.kcp4j.netty.interop;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import java.util.ArrayList;
import java.util.List;

/**
 * What both peers of a session are set to; the rest is at the defaults of kcp4j, which are those of
 * the Go program as well.
 *
 * @param window both windows, in segments
 */
record SessionSettings(Delivery delivery, int window, int mtuBytes) {

  private static final int INTERVAL_MS = 10;

  static final SessionSettings DEFAULT = stream(256, 1400);

  static SessionSettings stream(int window, int mtuBytes) {
    return new SessionSettings(Delivery.STREAM, window, mtuBytes);
  }

  static SessionSettings messages(int window, int mtuBytes) {
    return new SessionSettings(Delivery.MESSAGE, window, mtuBytes);
  }

  KcpConfig config() {
    return KcpConfig.builder()
        .delivery(delivery)
        .sendWindow(window)
        .receiveWindow(window)
        .mtuBytes(mtuBytes)
        .intervalMs(INTERVAL_MS)
        .build();
  }

  /** The flags of the Go program for these settings, and {@code more}. */
  List<String> goFlags(String... more) {
    List<String> flags = new ArrayList<>(List.of(more));
    flags.add("--sndwnd=" + window);
    flags.add("--rcvwnd=" + window);
    flags.add("--mtu=" + mtuBytes);
    flags.add("--interval=" + INTERVAL_MS);
    return flags;
  }
}
