package io.kcp4j.lab;

import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * What the flows of a congestion run share.
 *
 * @param up the bottleneck on the way of the payload
 * @param down the one on the way back
 */
record CongestionWorld(
    VirtualTime time,
    SplittableRandom random,
    CongestionPath path,
    Bottleneck up,
    Bottleneck down) {

  static CongestionWorld of(CongestionPath path, long seed) {
    return new CongestionWorld(
        new VirtualTime(),
        new SplittableRandom(seed),
        path,
        new Bottleneck(path.rates(), path.queueBytes()),
        new Bottleneck(path.rates(), path.queueBytes()));
  }

  /** A flow's link over one of the bottlenecks. */
  LabLink link(Bottleneck bottleneck, Consumer<ByteBuf> destination) {
    LinkSettings settings = path.link();
    SplittableRandom own = random.split();
    return new LabLink(time, own, settings, loss(), bottleneck, destination);
  }

  /** The losses of one direction of a flow. */
  LossModel loss() {
    return path.withBlackout(path.link().lossModel(random.split()));
  }
}
