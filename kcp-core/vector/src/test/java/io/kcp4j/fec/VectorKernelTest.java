package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.kernel.WideVectors;
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
    assertEquals(ShardKernel.preferred(), ReedSolomon.of(10, 3).kernel());
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
