package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.Allocations;
import io.kcp4j.internal.kernel.WideVectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The tests of the core, with the kernel that this JVM's property names. */
class VectorKernelTest {

  @BeforeAll
  static void machineHasSuchVectors() {
    WideVectors.assume();
  }

  @Test
  void isInUse() {
    assertEquals(System.getProperty(ShardKernel.PROPERTY), ShardKernel.preferred().name());
  }

  @Test
  void allocatesNothing() {
    int longs = ReedSolomon.rowLongs(1_400);
    ReedSolomon code = ReedSolomon.of(10, 3);
    long[][] data = new long[10][longs];
    long[][] parity = new long[3][longs];
    Allocations.awaitNone(() -> code.encode(data, parity, longs));
  }

  @Nested
  class Kernel extends ShardKernelTest {}

  @Nested
  class Code extends ReedSolomonTest {}

  @Nested
  class Recovery extends FecRecoveryTest {}

  @Nested
  class Streams extends RecordedFecStreamTest {}
}
