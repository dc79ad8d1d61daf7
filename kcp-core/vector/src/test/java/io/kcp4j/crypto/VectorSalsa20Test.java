package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.kernel.KernelChoice;
import io.kcp4j.kernel.WideVectors;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The tests of the core, with the kernel that this JVM's property names. */
class VectorSalsa20Test {

  private static final int PACKETS = 10_000;

  @BeforeAll
  static void machineHasSuchVectors() {
    WideVectors.assume();
  }

  @Test
  void isInUse() {
    Salsa20Kernel kernel = Salsa20Kernel.preferred();
    assertEquals(System.getProperty(Salsa20Kernel.PROPERTY), kernel.name());
    assertTrue(
        new KernelChoice<>(Salsa20Kernel.portable(), new Salsa20KernelTrial()).isRight(kernel));
  }

  /**
   * Not at once: vectors are objects until the JIT compiler is done, and for ever if it gives up.
   */
  @Test
  void allocatesNothingOnceItIsCompiled() {
    Salsa20 salsa20 = new Salsa20(new byte[CipherAlgorithm.SALSA20.keyBytes()]);
    PacketGroup group = new PacketGroup();
    group.add(1_400);
    assertTimeoutPreemptively(
        Duration.ofMinutes(1),
        () -> {
          long bytes;
          do {
            bytes = allocatedBy(() -> salsa20.encrypt(group));
          } while (bytes >= PACKETS);
        });
  }

  private static long allocatedBy(Runnable work) {
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < PACKETS; i++) {
      work.run();
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }

  @Nested
  class Kernel extends Salsa20KernelTest {}

  @Nested
  class Packets extends VectorsTest {}
}
