package io.kcp4j.lab;

import io.kcp4j.KcpConfig;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.fec.FecConfig;
import java.util.LinkedHashMap;
import java.util.Map;

/** The settings of the KCP flows of a congestion run, by the names of the command line. */
final class CongestionSides {

  /** More than the flows need: only the congestion control limits them. */
  private static final int WINDOW = 4096;

  private static final Map<String, CongestionControl.Factory> CONTROLS = controls();

  private static final Map<String, LabSide> RECEIVERS = receivers();

  private CongestionSides() {}

  private static Map<String, CongestionControl.Factory> controls() {
    Map<String, CongestionControl.Factory> controls = new LinkedHashMap<>();
    controls.put("bbr", CongestionControl.BBR);
    controls.put("reno", CongestionControl.RENO);
    controls.put("none", CongestionControl.NONE);
    return controls;
  }

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
   * The sender.
   *
   * @throws IllegalArgumentException if there is no such control
   */
  static LabSide sender(String control, FecConfig fec) {
    KcpConfig config = settings().congestionControl(named(CONTROLS, control)).build();
    return LabSide.of(config, fec);
  }

  /**
   * The receiver.
   *
   * @throws IllegalArgumentException if there is no such receiver
   */
  static LabSide receiver(String name) {
    return named(RECEIVERS, name);
  }

  private static <T> T named(Map<String, T> values, String name) {
    T value = values.get(name);
    if (value == null) {
      throw new IllegalArgumentException(name + " (expected: one of " + values.keySet() + ")");
    }
    return value;
  }

  static String controlNames() {
    return String.join(", ", CONTROLS.keySet());
  }

  static String receiverNames() {
    return String.join(", ", RECEIVERS.keySet());
  }
}
