package io.kcp4j.lab;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.KcpGoFecDecoder;
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

  /** The model of kcp-go with the given flush interval, not configured to use FEC. */
  static LabSide kcpGo(int intervalMs) {
    return (time, random) -> KcpGoPeer.unconfigured(time, random, intervalMs);
  }

  /** The same with windows of so many segments, a power of two. */
  static LabSide kcpGoWithWindow(int intervalMs, int windowSegments) {
    return (time, random) ->
        new KcpGoPeer(time, random, intervalMs, windowSegments, new KcpGoFecDecoder(1, 1));
  }

  /** The model of kcp-go configured for the ratio of its peer, but without parity of its own. */
  static LabSide kcpGo(int intervalMs, int dataShards, int parityShards) {
    return (time, random) ->
        new KcpGoPeer(time, random, intervalMs, new KcpGoFecDecoder(dataShards, parityShards));
  }
}
