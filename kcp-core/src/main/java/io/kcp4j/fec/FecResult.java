package io.kcp4j.fec;

import io.kcp4j.Unstable;

/**
 * What became of a data or parity packet in the decoder. It concerns the packet's use for
 * recovering others: the payload of a data packet is good unless the packet is {@link #REFUSED}.
 */
@Unstable
public enum FecResult {
  /** Kept, or it was the last that its group needed. */
  KEPT,
  /** It has been here before, or its group has been completed without it. */
  DUPLICATE,
  /** Its group has been given up, or it is far from where the peer's sequence is. */
  STALE,
  /** It contradicts the ratio in force, or does not fit the other packets of its group. */
  MISPLACED,
  /** Not kept: decoding is off, or the memory budget has no room. */
  NOT_KEPT,
  /** Malformed: nothing of it is to be used. */
  REFUSED
}
