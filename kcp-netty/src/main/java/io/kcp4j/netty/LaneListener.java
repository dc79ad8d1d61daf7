package io.kcp4j.netty;

import io.kcp4j.Unstable;
import io.kcp4j.lanes.Lane;

/** Reads a lane in place of the pipeline of the session's channel. On its event loop. */
@Unstable
public interface LaneListener {

  /** Something has happened on the lane: see {@link io.kcp4j.lanes.Lanes#nextNews}. */
  void laneProgressed();

  /** Makes the listeners of lanes on which the peer begins to send. */
  @FunctionalInterface
  interface Acceptor {
    /** The listener of a lane, or null if the session's channel is to read it. */
    LaneListener accept(Lane lane);
  }
}
