package io.kcp4j;

import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryLimit;

/** What tests of other packages ask about memory limits, and hold of them. */
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

  /** Counts bytes in the share of sending, without a check. */
  public static void chargeToSend(MemoryAccount account, int bytes) {
    account.chargeToSend(bytes);
  }
}
