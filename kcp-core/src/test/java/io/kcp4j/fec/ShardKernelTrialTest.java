package io.kcp4j.fec;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.kernel.KernelChoice;
import java.util.List;
import org.junit.jupiter.api.Test;

class ShardKernelTrialTest {

  private final ShardKernel portable = ShardKernel.portable();
  private final KernelChoice<ShardKernel> choice =
      new KernelChoice<>(portable, new ShardKernelTrial());

  @Test
  void correctKernelIsAccepted() {
    assertTrue(choice.isCorrect(new RenamedKernel("other")));
  }

  @Test
  void kernelWithoutTheLastLongIsIncorrect() {
    assertFalse(
        choice.isCorrect(
            new RenamedKernel("short") {
              @Override
              void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
                product.multiply(inputs, outputs, Math.max(longs - 1, 0));
              }
            }));
  }

  @Test
  void kernelThatWritesAfterTheEndIsIncorrect() {
    assertFalse(
        choice.isCorrect(
            new RenamedKernel("long") {
              @Override
              void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
                product.multiply(inputs, outputs, longs);
                outputs[outputs.length - 1][longs] = 0;
              }
            }));
  }

  @Test
  void failingKernelIsNotUsed() {
    assertFalse(choice.isCorrect(new FailingKernel()));
    assertSame(portable, choice.fastest(List.of(new FailingKernel())));
    assertSame(portable, choice.named("failing", List.of(new FailingKernel())));
  }

  @Test
  void namedKernelIsUsedWhateverItsSpeed() {
    ShardKernel slow = new Slow();
    assertSame(slow, choice.named("slow", List.of(new FailingKernel(), slow)));
    assertSame(portable, choice.named("fast", List.of(slow)));
    assertSame(portable, choice.named("portable", List.of(slow)));
  }

  @Test
  void slowerKernelIsNotSelected() {
    assertSame(portable, choice.fastest(List.of(new Slow())));
  }

  @Test
  void fasterKernelIsSelected() {
    ShardKernel idle =
        new RenamedKernel("idle") {
          @Override
          void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
            if (longs < 100) { // as the check does
              product.multiply(inputs, outputs, longs);
            }
          }
        };
    assertSame(idle, choice.fastest(List.of(new FailingKernel(), idle, new Slow())));
  }

  /** The portable kernel under another name. */
  private static class RenamedKernel implements ShardKernel {

    private final String name;

    RenamedKernel(String name) {
      this.name = name;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public Product prepare(byte[][] coefficients) {
      Product product = ShardKernel.portable().prepare(coefficients);
      return (inputs, outputs, longs) -> multiply(product, inputs, outputs, longs);
    }

    void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
      product.multiply(inputs, outputs, longs);
    }
  }

  private static final class Slow extends RenamedKernel {

    Slow() {
      super("slow");
    }

    @Override
    void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
      for (int i = 0; i < 5; i++) {
        product.multiply(inputs, outputs, longs);
      }
    }
  }

  private static final class FailingKernel extends RenamedKernel {

    FailingKernel() {
      super("failing");
    }

    @Override
    void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
      throw new NoClassDefFoundError("of a missing module");
    }
  }
}
