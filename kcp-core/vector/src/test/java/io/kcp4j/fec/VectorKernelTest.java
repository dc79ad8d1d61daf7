package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import jdk.incubator.vector.VectorShape;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The tests of the core, with the kernel that this JVM's property names. */
class VectorKernelTest {

  @BeforeAll
  static void machineHasSuchVectors() {
    int bits = VectorShape.preferredShape().vectorBitSize();
    assumeTrue(bits >= 512, "the kernel needs vectors of 512 bits, this machine has " + bits);
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
