package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.internal.crypto.Salsa20Kernel;
import java.util.Iterator;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/** The artifact on the class path of a JVM without {@code --add-modules jdk.incubator.vector}. */
class MissingModuleTest {

  @Test
  void portableKernelIsUsed() {
    Iterator<ShardKernel> services = ServiceLoader.load(ShardKernel.class).iterator();
    assertTrue(services.hasNext());
    assertThrows(ServiceConfigurationError.class, services::next);
    assertSame(ShardKernel.portable(), ShardKernel.preferred());
    assertSame(Salsa20Kernel.portable(), Salsa20Kernel.preferred());
  }
}
