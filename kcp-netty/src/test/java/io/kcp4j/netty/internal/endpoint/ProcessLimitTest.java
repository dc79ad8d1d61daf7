package io.kcp4j.netty.internal.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class ProcessLimitTest {

  private static final long MIB = 1 << 20;

  @Test
  void anEighthOfTheDirectMemoryStaysFree() {
    assertEquals(56 * MIB, ProcessLimit.allocatableBytes(0, 64 * MIB));
    assertEquals(-4 * MIB, ProcessLimit.allocatableBytes(60 * MIB, 64 * MIB));
  }

  @Test
  void nothingIsKnownIfNettyDoesNotCount() {
    assertEquals(Long.MAX_VALUE, ProcessLimit.allocatableBytes(-1, 64 * MIB));
  }
}
