package io.kcp4j.lab;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import io.kcp4j.fec.FecConfig;
import java.util.List;

/** The settings of client and server, under a name. */
record Variant(String name, LabSide client, LabSide server) {

  /** All variants that the command line knows. */
  static final List<Variant> ALL =
      List.of(
          both("default", turbo().build(), FecConfig.NONE),
          both(
              "count",
              turbo().lossDetection(LossDetection.FAST_RETRANSMIT).build(),
              FecConfig.NONE),
          both("messages", turbo().delivery(Delivery.MESSAGE).build(), FecConfig.NONE),
          both("interval-40", turbo().intervalMs(40).build(), FecConfig.NONE),
          both("ack-no-delay", turbo().ackNoDelay(true).build(), FecConfig.NONE),
          both("fec-10-3", turbo().build(), FecConfig.of(10, 3)),
          both("fec-2-1-mtu-680", turbo().mtuBytes(680).build(), FecConfig.of(2, 1)),
          both("fec-3-2-mtu-500", turbo().mtuBytes(500).build(), FecConfig.of(3, 2)),
          both("fec-1-1", turbo().build(), FecConfig.of(1, 1)),
          both(
              "fec-3-2-aligned",
              turbo().build(),
              FecConfig.of(3, 2).toBuilder().flushAligned(true).build()),
          both("adaptive", turbo().build(), FecConfig.adaptive()),
          both(
              "adaptive-3", turbo().build(), FecConfig.adaptive().toBuilder().maxParity(3).build()),
          both(
              "adaptive-messages",
              turbo().delivery(Delivery.MESSAGE).build(),
              FecConfig.adaptive()),
          both(
              "copy-5", turbo().build(), FecConfig.adaptive().toBuilder().delayedCopyMs(5).build()),
          of("adaptive-to-kcp-go-10", adaptive(), LabSide.kcpGo(10)),
          of("peer-interval-40", side(turbo()), side(turbo().intervalMs(40))),
          of("to-kcp-go-10", side(turbo()), LabSide.kcpGo(10)),
          of("to-kcp-go-40", side(turbo()), LabSide.kcpGo(40)),
          of("fec-3-2-mtu-500-to-kcp-go-10", fec(3, 2, 500), LabSide.kcpGo(10, 3, 2)),
          of("kcp-go-10", LabSide.kcpGo(10), LabSide.kcpGo(10)),
          of("kcp-go-40", LabSide.kcpGo(40), LabSide.kcpGo(40)));

  /** What games use: {@code 1, 10, 2, 1} in terms of C KCP, and windows that do not limit them. */
  static KcpConfig.Builder turbo() {
    return KcpConfig.builder()
        .mtuBytes(1400) // That of the lab's kcp-go, and of what has been published.
        .mode(KcpMode.FAST3)
        .congestionControl(CongestionControl.NONE)
        .sendWindow(1024)
        .receiveWindow(1024);
  }

  static Variant both(String name, KcpConfig config, FecConfig fec) {
    LabSide side = LabSide.of(config, fec);
    return new Variant(name, side, side);
  }

  private static Variant of(String name, LabSide client, LabSide server) {
    return new Variant(name, client, server);
  }

  private static LabSide fec(int dataShards, int parityShards, int mtuBytes) {
    KcpConfig config = turbo().mtuBytes(mtuBytes).build();
    return LabSide.of(config, FecConfig.of(dataShards, parityShards));
  }

  private static LabSide adaptive() {
    return LabSide.of(turbo().build(), FecConfig.adaptive());
  }

  private static LabSide side(KcpConfig.Builder config) {
    return LabSide.of(config.build(), FecConfig.NONE);
  }

  /**
   * The variant of that name.
   *
   * @throws IllegalArgumentException if there is none
   */
  static Variant named(String name) {
    return ALL.stream()
        .filter(variant -> variant.name.equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "variant: " + name + " (expected: one of " + names() + ")"));
  }

  static List<String> names() {
    return ALL.stream().map(Variant::name).toList();
  }

  @Override
  public String toString() {
    return name;
  }
}
