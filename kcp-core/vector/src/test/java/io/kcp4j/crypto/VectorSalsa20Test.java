package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kcp4j.kernel.KernelChoice;
import jdk.incubator.vector.VectorShape;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The tests of the core, with the kernel that this JVM's property names. */
class VectorSalsa20Test {

  @BeforeAll
  static void machineHasSuchVectors() {
    int bits = VectorShape.preferredShape().vectorBitSize();
    assumeTrue(bits >= 512, "the kernel needs vectors of 512 bits, this machine has " + bits);
  }

  @Test
  void isInUse() {
    Salsa20Kernel kernel = Salsa20Kernel.preferred();
    assertEquals(System.getProperty(Salsa20Kernel.PROPERTY), kernel.name());
    assertTrue(
        new KernelChoice<>(Salsa20Kernel.portable(), new Salsa20KernelTrial()).isRight(kernel));
  }

  @Nested
  class Kernel extends Salsa20KernelTest {}

  @Nested
  class Packets extends VectorsTest {}
}
