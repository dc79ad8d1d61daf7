package io.kcp4j.crypto;

import io.kcp4j.kernel.KernelChoice;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceLoader;

/** Which library is in use, and why: the first service that loads, or the JCE. */
record LibraryChoice(CipherLibrary library, String reason) {

  static final LibraryChoice CURRENT =
      choose(
          System.getProperty(CipherLibrary.PROPERTY),
          ServiceLoader.load(CipherLibrary.class, CipherLibrary.class.getClassLoader()).iterator());

  /**
   * Chooses among services.
   *
   * @param name of the only library to consider, or null
   */
  static LibraryChoice choose(String name, Iterator<CipherLibrary> services) {
    String named = "named by " + CipherLibrary.PROPERTY;
    if (JceLibrary.NAME.equals(name)) {
      return new LibraryChoice(JceLibrary.PREFERRED, named);
    }
    List<Throwable> failures = new ArrayList<>();
    List<CipherLibrary> loaded = KernelChoice.load(services, failures::add);
    String reason =
        failures.isEmpty()
            ? "no other library found"
            : "a library does not load: " + cause(failures.get(failures.size() - 1));
    for (CipherLibrary library : loaded) {
      if (name == null) {
        return new LibraryChoice(library, "found");
      }
      if (library.name().equals(name)) {
        return new LibraryChoice(library, named);
      }
      reason = library.name() + " is not " + name;
    }
    return new LibraryChoice(JceLibrary.PREFERRED, reason);
  }

  private static Throwable cause(Throwable thrown) {
    Throwable cause = thrown;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }
}
