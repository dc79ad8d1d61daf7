package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

class LibraryChoiceTest {

  private static final CipherLibrary RIGHT = new RenamedLibrary("right");

  @Test
  void firstCorrectLibraryIsUsed() {
    LibraryChoice choice = choose(null, new WrongBlocks(), RIGHT, new RenamedLibrary("later"));
    assertSame(RIGHT, choice.library());
    assertEquals("found, and agrees with the JVM", choice.reason());
  }

  @Test
  void libraryOfTheJvmIsUsedWithoutOthers() {
    LibraryChoice choice = choose(null);
    assertSame(JceLibrary.PREFERRED, choice.library());
    assertEquals("no other library found", choice.reason());
    assertEquals("jce", CipherLibrary.preferred().name());
  }

  @Test
  void nameSelectsOneOfSeveralLibraries() {
    CipherLibrary later = new RenamedLibrary("later");
    assertSame(later, choose("later", RIGHT, later).library());
    assertSame(JceLibrary.PREFERRED, choose("jce", RIGHT).library());
    LibraryChoice absent = choose("absent", RIGHT);
    assertSame(JceLibrary.PREFERRED, absent.library());
    assertEquals("right is not absent", absent.reason());
  }

  @Test
  void incorrectLibraryIsNotUsedEvenIfNamed() {
    for (CipherLibrary wrong :
        List.of(
            new WrongBlocks(),
            new WrongTag(),
            new WrongOffHeap(),
            new AcceptsAnyTag(),
            new FailingLibrary())) {
      assertFalse(LibraryChoice.isCorrect(wrong), wrong.name());
      LibraryChoice choice = choose(wrong.name(), wrong);
      assertSame(JceLibrary.PREFERRED, choice.library());
      assertEquals(wrong.name() + " gives wrong results", choice.reason());
    }
    assertTrue(LibraryChoice.isCorrect(RIGHT));
  }

  @Test
  void libraryThatDoesNotLoadIsSkipped() {
    UnsatisfiedLinkError missing = new UnsatisfiedLinkError("no such file");
    Iterator<CipherLibrary> none = new Broken(missing, List.<CipherLibrary>of().iterator());
    LibraryChoice choice = LibraryChoice.choose(null, none);
    assertSame(JceLibrary.PREFERRED, choice.library());
    assertEquals("a library does not load: " + missing, choice.reason());
    Iterator<CipherLibrary> next = new Broken(missing, List.of(RIGHT).iterator());
    assertSame(RIGHT, LibraryChoice.choose(null, next).library());
  }

  private static LibraryChoice choose(String name, CipherLibrary... services) {
    return LibraryChoice.choose(name, List.of(services).iterator());
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
  private static class RenamedLibrary implements CipherLibrary {

    private final String name;

    RenamedLibrary(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Aead aead(CipherAlgorithm algorithm, byte[] key) {
      return JceLibrary.PREFERRED.aead(algorithm, key);
    }

    @Override
    public BlockCipher aes(byte[] key) {
      return JceLibrary.PREFERRED.aes(key);
    }
  }

  private static final class WrongBlocks extends RenamedLibrary {

    WrongBlocks() {
      super("wrong blocks");
    }

    @Override
    public BlockCipher aes(byte[] key) {
      return super.aes(new byte[key.length]);
    }
  }

  private static final class WrongTag extends RenamedLibrary {

    WrongTag() {
      super("wrong tag");
    }

    @Override
    public Aead aead(CipherAlgorithm algorithm, byte[] key) {
      return new ForwardingAead(super.aead(algorithm, key)) {
        @Override
        public void seal(
            byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
          super.seal(nonce, in, inIndex, length, out, outIndex);
          out[outIndex + length]++;
        }
      };
    }
  }

  private static final class WrongOffHeap extends RenamedLibrary {

    WrongOffHeap() {
      super("wrong off the heap");
    }

    @Override
    public Aead aead(CipherAlgorithm algorithm, byte[] key) {
      return new IdleOffHeap(super.aead(algorithm, key));
    }
  }

  /** Does not process direct buffers. */
  private static final class IdleOffHeap extends ForwardingAead implements DirectAead {

    IdleOffHeap(Aead aead) {
      super(aead);
    }

    @Override
    public void seal(ByteBuffer packet, int index, int payloadBytes) {}

    @Override
    public boolean open(ByteBuffer in, int index, int bytes, ByteBuffer out, int outIndex) {
      return false;
    }
  }

  /** Opens every packet. */
  private static final class AcceptsAnyTag extends RenamedLibrary {

    AcceptsAnyTag() {
      super("accepting");
    }

    @Override
    public Aead aead(CipherAlgorithm algorithm, byte[] key) {
      return new ForwardingAead(super.aead(algorithm, key)) {
        @Override
        public boolean open(
            byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
          super.open(nonce, in, inIndex, length, out, outIndex);
          return true;
        }
      };
    }
  }

  private static final class FailingLibrary extends RenamedLibrary {

    FailingLibrary() {
      super("failing");
    }

    @Override
    public BlockCipher aes(byte[] key) {
      throw new IllegalStateException("of a machine without it");
    }
  }

  private static class ForwardingAead implements Aead {

    private final Aead aead;

    ForwardingAead(Aead aead) {
      this.aead = aead;
    }

    @Override
    public int nonceBytes() {
      return aead.nonceBytes();
    }

    @Override
    public int tagBytes() {
      return aead.tagBytes();
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      aead.seal(nonce, in, inIndex, length, out, outIndex);
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      return aead.open(nonce, in, inIndex, length, out, outIndex);
    }
  }
}
