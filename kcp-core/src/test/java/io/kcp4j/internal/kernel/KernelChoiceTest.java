package io.kcp4j.internal.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

class KernelChoiceTest {

  private final Kernel portable = new Kernel("portable", 4);
  private final Kernel slow = new Kernel("slow", 20);
  private final Kernel failing = new Kernel("failing", -1);
  private final KernelChoice<Kernel> choice =
      new KernelChoice<>(portable, Kernel::name, Kernel::work);

  /** The checksum of some blocks of 4 KiB; a negative number fails. */
  record Kernel(String name, int blocks) {

    Runnable work() {
      byte[] block = new byte[4096];
      CRC32 crc = new CRC32();
      return () -> {
        if (blocks < 0) {
          throw new NoClassDefFoundError("of a missing module");
        }
        for (int i = 0; i < blocks; i++) {
          crc.update(block);
        }
      };
    }
  }

  @Test
  void portableKernelIsUsedWithoutServices() {
    assertSame(portable, choice.start(Kernel.class, null).current());
    assertSame(portable, choice.start(Kernel.class, "absent").current());
    assertSame(portable, choice.fastest(List.of()));
  }

  @Test
  void namedKernelIsUsedWhateverItsSpeed() {
    assertSame(slow, choice.named("slow", List.of(failing, slow)));
    assertSame(portable, choice.named("fast", List.of(slow)));
    assertSame(portable, choice.named("portable", List.of(slow)));
  }

  @Test
  void slowerKernelIsNotSelected() {
    assertSame(portable, choice.fastest(List.of(slow)));
  }

  @Test
  void fasterKernelIsSelected() {
    Kernel idle = new Kernel("idle", 0);
    assertSame(idle, choice.fastest(List.of(failing, idle, slow)));
  }

  @Test
  void failingKernelIsNotSelected() {
    assertSame(portable, choice.fastest(List.of(failing)));
  }

  @Test
  void servicesThatDoNotLoadAreSkipped() {
    List<Throwable> failures = new ArrayList<>();
    assertEquals(List.of(1, 3), KernelChoice.load(new Services(1, null, 3), failures::add));
    assertEquals(List.of("does not load"), failures.stream().map(Throwable::getMessage).toList());
  }

  @Test
  void serviceThatFailsForeverEndsTheSearch() {
    List<Throwable> failures = new ArrayList<>();
    Services services = new Services(new Integer[100]);
    assertEquals(List.of(), KernelChoice.load(services, failures::add));
    assertEquals(16, failures.size());
  }

  /** Numbers, of which null does not load. */
  private static final class Services implements Iterator<Integer> {

    private final Integer[] numbers;
    private int next;

    Services(Integer... numbers) {
      this.numbers = numbers;
    }

    @Override
    public boolean hasNext() {
      return next < numbers.length;
    }

    @Override
    public Integer next() {
      Integer number = numbers[next++];
      if (number == null) {
        throw new UnsatisfiedLinkError("does not load");
      }
      return number;
    }
  }
}
