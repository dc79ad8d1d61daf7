package io.kcp4j.sim;

/** A check of the simulator has failed. The message names the seed and how to replay it. */
public final class SimulationFailure extends AssertionError {

  private static final long serialVersionUID = 1L;

  SimulationFailure(String message, Throwable cause) {
    super(message, cause);
  }
}
