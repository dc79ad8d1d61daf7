package io.kcp4j.internal.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Which library is preferred. */
class CipherLibraryTest {

  private static final CipherLibrary FIRST = new RenamedLibrary("first");

  @Test
  void firstLibraryIsUsed() {
    JceLibrary.Choice choice = choose(null, FIRST, new RenamedLibrary("later"));
    assertSame(FIRST, choice.library());
    assertEquals("found", choice.reason());
  }

  @Test
  void libraryOfTheJvmIsUsedWithoutOthers() {
    JceLibrary.Choice choice = choose(null);
    assertSame(JceLibrary.PREFERRED, choice.library());
    assertEquals("no other library found", choice.reason());
    assertEquals("jce", CipherLibrary.preferred().name());
  }

  @Test
  void nameSelectsOneOfSeveralLibraries() {
    CipherLibrary later = new RenamedLibrary("later");
    JceLibrary.Choice named = choose("later", FIRST, later);
    assertSame(later, named.library());
    assertEquals("named by kcp4j.crypto.library", named.reason());
    assertSame(JceLibrary.PREFERRED, choose("jce", FIRST).library());
    JceLibrary.Choice absent = choose("absent", FIRST);
    assertSame(JceLibrary.PREFERRED, absent.library());
    assertEquals("first is not absent", absent.reason());
  }

  @Test
  void libraryThatDoesNotLoadIsSkipped() {
    UnsatisfiedLinkError missing = new UnsatisfiedLinkError("no such file");
    Iterator<CipherLibrary> none = new Broken(missing, List.<CipherLibrary>of().iterator());
    JceLibrary.Choice choice = JceLibrary.Choice.choose(null, none);
    assertSame(JceLibrary.PREFERRED, choice.library());
    assertEquals("a library does not load: " + missing, choice.reason());
    Iterator<CipherLibrary> next = new Broken(missing, List.of(FIRST).iterator());
    assertSame(FIRST, JceLibrary.Choice.choose(null, next).library());
  }

  private static JceLibrary.Choice choose(String name, CipherLibrary... services) {
    return JceLibrary.Choice.choose(name, List.of(services).iterator());
  }

  /** Services whose first one does not load. */
  private static final class Broken implements Iterator<CipherLibrary> {

    private final Iterator<CipherLibrary> others;
    private LinkageError first;

    Broken(LinkageError first, Iterator<CipherLibrary> others) {
      this.first = new ExceptionInInitializerError(first);
      this.others = others;
    }

    @Override
    public boolean hasNext() {
      return first != null || others.hasNext();
    }

    @Override
    public CipherLibrary next() {
      if (first != null) {
        LinkageError thrown = first;
        first = null;
        throw thrown;
      }
      return others.next();
    }
  }

  /** The ciphers of the JVM under another name. */
  private record RenamedLibrary(String name) implements CipherLibrary {

    @Override
    public Aead aead(CipherAlgorithm algorithm, byte[] key) {
      return JceLibrary.PREFERRED.aead(algorithm, key);
    }

    @Override
    public BlockCipher aes(byte[] key) {
      return JceLibrary.PREFERRED.aes(key);
    }
  }
}
