package io.kcp4j.fec;

import io.kcp4j.Unstable;

/**
 * How the decoder has treated a data or parity packet. It concerns only the recovery of other
 * packets: the payload of a data packet is valid unless the packet is {@link #REFUSED}.
 */
@Unstable
public enum FecResult {
  /** Kept, or the last packet that its group needed. */
  KEPT,
  /** It arrived before, or its group has been completed without it. */
  DUPLICATE,
  /** Its group has been dropped, or it is far from the current sequence numbers of the peer. */
  STALE,
  /** It is behind all packets that are kept and brings nothing new, as replayed packets do. */
  REPLAYED,
  /** It contradicts the current ratio or the other packets of its group. */
  MISPLACED,
  /** Not kept: decoding is disabled, or the memory limit is reached. */
  NOT_KEPT,
  /** Malformed: its payload must not be used. */
  REFUSED
}
