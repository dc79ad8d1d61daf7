package io.kcp4j.lab;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import java.util.LinkedHashMap;
import java.util.Map;

/** The settings of the KCP flows of a congestion run, by the names of the command line. */
final class CongestionSides {

  /** More than the flows need: only the congestion control limits them. */
  private static final int WINDOW = 4096;

  private static final Map<String, LabSide> RECEIVERS = receivers();

  private CongestionSides() {}

  private static Map<String, LabSide> receivers() {
    Map<String, LabSide> receivers = new LinkedHashMap<>();
    receivers.put("kcp4j-10", LabSide.of(settings().build(), FecConfig.NONE));
    receivers.put("kcp4j-40", LabSide.of(settings().intervalMs(40).build(), FecConfig.NONE));
    receivers.put("kcp-go-10", LabSide.kcpGoWithWindow(10, WINDOW));
    receivers.put("kcp-go-40", LabSide.kcpGoWithWindow(40, WINDOW));
    return receivers;
  }

  private static KcpConfig.Builder settings() {
    return Variant.turbo().sendWindow(WINDOW).receiveWindow(WINDOW);
  }

  /**
   * The sender. Without congestion control it has a window that does not follow the path.
   *
   * @throws IllegalArgumentException if there is no such control
   */
  static LabSide sender(String control, FecConfig fec) {
    CongestionControl.Factory factory = CongestionControl.factory(control);
    int window = factory == CongestionControl.NONE ? KcpConfig.MAX_FIXED_WINDOW : WINDOW;
    return LabSide.of(settings().sendWindow(window).congestionControl(factory).build(), fec);
  }

  /**
   * The receiver.
   *
   * @throws IllegalArgumentException if there is no such receiver
   */
  static LabSide receiver(String name) {
    LabSide receiver = RECEIVERS.get(name);
    if (receiver == null) {
      throw new IllegalArgumentException(name + " (expected: one of " + RECEIVERS.keySet() + ")");
    }
    return receiver;
  }

  static String receiverNames() {
    return String.join(", ", RECEIVERS.keySet());
  }
}
