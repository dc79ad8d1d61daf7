package io.kcp4j;

/**
 * How much may be sent to a peer that has not proven that it receives at its address: protocol.md
 * 8.7. Used by the thread of its session.
 */
@Unstable
public interface SendAllowance {

  /** How many bytes may be sent now, what the layers below add included; below 0 for none. */
  long bytes();

  /** Whether the first small segment of the session may exceed that now. */
  default boolean mayFirstExceed() {
    return true;
  }

  /** The first small segment exceeds it, if this returns true. */
  default boolean takeFirstExcess() {
    return true;
  }

  /** Another small segment, or a probe, exceeds it, if this returns true. */
  default boolean takeFurtherExcess() {
    return true;
  }
}
