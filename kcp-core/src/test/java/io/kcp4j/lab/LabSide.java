package io.kcp4j.lab;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.sim.VirtualTime;
import java.util.SplittableRandom;

/** Makes the machine of one side. */
@FunctionalInterface
interface LabSide {

  LabPeer create(VirtualTime time, SplittableRandom random);

  /** kcp4j. */
  static LabSide of(KcpConfig config, FecConfig fec) {
    return (time, random) -> new LabHost(time, random, config, fec);
  }

  /** The model of kcp-go with the given flush interval. */
  static LabSide kcpGo(int intervalMs) {
    return (time, random) -> new KcpGoPeer(time, random, intervalMs);
  }
}
