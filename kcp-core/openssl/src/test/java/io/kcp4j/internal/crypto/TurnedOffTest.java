package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

/** The artifact on the class path of a JVM whose property names the ciphers of the JVM. */
class TurnedOffTest {

  @Test
  void ciphersOfTheJvmAreUsed() {
    assertEquals("jce", System.getProperty(CipherLibrary.PROPERTY));
    assertTrue(ServiceLoader.load(CipherLibrary.class).iterator().hasNext());
    assertEquals("jce", CipherLibrary.preferred().name());
    assertEquals("named by kcp4j.crypto.library", CipherLibrary.reason());
  }
}
