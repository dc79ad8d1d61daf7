package io.kcp4j;

/** What tests of other packages ask about memory limits. */
public final class MemoryUse {

  private MemoryUse() {}

  /** What the budgets of a limit have borrowed, in bytes. */
  public static long borrowedBytes(MemoryLimit limit) {
    return limit.borrowedBytes();
  }

  /** What the limit of its process leaves to a member, in bytes. */
  public static long processRoomBytes(MemoryLimit limit) {
    return limit.processRoomBytes();
  }
}
