package io.kcp4j;

/**
 * Shared by the sessions of a thread, of one endpoint or of several: pools of rings, and the flush
 * that is under way.
 */
@Unstable
public final class ThreadContext {

  final RingPool<SendRing> sendRings =
      new RingPool<>(SendRing.ENTRY_BYTES + SendRing.DELIVERY_BYTES, SendRing::new);
  final RingPool<ReceiveQueue.Ring> queueRings = new RingPool<>(ReceiveQueue.Ring.ENTRY_BYTES, ReceiveQueue.Ring::new);
  final Flush flush = new Flush();

  /** Makes empty pools. */
  public ThreadContext() {}
}
