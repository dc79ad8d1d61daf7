package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.Allocations;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.internal.kernel.WideVectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The tests of the core, with the kernel that this JVM's property names. */
class VectorSalsa20Test {

  @BeforeAll
  static void machineHasSuchVectors() {
    WideVectors.assume();
  }

  @Test
  void isInUse() {
    assertEquals(System.getProperty(Salsa20Kernel.PROPERTY), Salsa20Kernel.preferred().name());
  }

  @Test
  void allocatesNothing() {
    Salsa20 salsa20 = new Salsa20(new byte[CipherAlgorithm.SALSA20.keyBytes()]);
    PacketGroup group = new PacketGroup();
    group.add(1_400);
    Allocations.awaitNone(() -> salsa20.encrypt(group));
  }

  @Nested
  class Kernel extends Salsa20KernelTest {}

  @Nested
  class Packets extends VectorsTest {}
}
