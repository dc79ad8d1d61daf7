package io.kcp4j;

/** The rings that the sessions of a thread share, of one endpoint or of several. */
@Unstable
public final class RingPools {

  final RingPool<SendRing> send = new RingPool<>(SendRing.ENTRY_BYTES, SendRing::new);
  final RingPool<QueueRing> queue = new RingPool<>(QueueRing.ENTRY_BYTES, QueueRing::new);

  /** Makes empty pools. */
  public RingPools() {}
}
