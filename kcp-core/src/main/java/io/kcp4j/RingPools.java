package io.kcp4j;

/**
 * What the sessions of a thread share, of one endpoint or of several: pools of rings, the writer of
 * the flush that is under way, and the rate of probes.
 */
@Unstable
public final class RingPools {

  final RingPool<SendRing> send = new RingPool<>(SendRing.ENTRY_BYTES, SendRing::new);
  final RingPool<QueueRing> queue = new RingPool<>(QueueRing.ENTRY_BYTES, QueueRing::new);
  final SegmentWriter writer = new SegmentWriter();
  final ProbeSlots probeSlots = new ProbeSlots();

  /** Makes empty pools, and a writer. */
  public RingPools() {}
}
