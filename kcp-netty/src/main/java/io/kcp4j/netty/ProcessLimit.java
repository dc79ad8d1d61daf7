package io.kcp4j.netty;

import io.kcp4j.ProcessMemory;
import io.netty.util.internal.SystemPropertyUtil;

/** The limit on the memory that all servers and clients of the process hold together. */
final class ProcessLimit {

  /** Half of the maximum heap: by default, Netty's direct memory has the size of the heap. */
  static final long HALF_OF_HEAP_BYTES = Runtime.getRuntime().maxMemory() / 2;

  private static final String PROPERTY = "io.kcp4j.processMemoryLimit";

  private static final ProcessMemory PROCESS =
      new ProcessMemory(Math.max(1, SystemPropertyUtil.getLong(PROPERTY, HALF_OF_HEAP_BYTES)));

  private ProcessLimit() {}

  static ProcessMemory get() {
    return PROCESS;
  }
}
