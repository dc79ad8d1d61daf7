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
  void rightKernelIsRight() {
    assertTrue(choice.isRight(new Disguise("other")));
  }

  @Test
  void kernelThatForgetsTheLastLongIsWrong() {
    assertFalse(
        choice.isRight(
            new Disguise("short") {
              @Override
              void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
                product.multiply(inputs, outputs, Math.max(longs - 1, 0));
              }
            }));
  }

  @Test
  void kernelThatWritesBehindTheEndIsWrong() {
    assertFalse(
        choice.isRight(
            new Disguise("long") {
              @Override
              void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
                product.multiply(inputs, outputs, longs);
                outputs[outputs.length - 1][longs] = 0;
              }
            }));
  }

  @Test
  void kernelThatFailsIsWrong() {
    assertFalse(choice.isRight(new Failing()));
    assertSame(portable, choice.fastest(List.of(new Failing())));
    assertSame(portable, choice.named("failing", List.of(new Failing())));
  }

  @Test
  void kernelIsTakenByItsNameWhateverItsSpeed() {
    ShardKernel slow = new Slow();
    assertSame(slow, choice.named("slow", List.of(new Failing(), slow)));
    assertSame(portable, choice.named("fast", List.of(slow)));
    assertSame(portable, choice.named("portable", List.of(slow)));
  }

  @Test
  void slowerKernelLosesTheRace() {
    assertSame(portable, choice.fastest(List.of(new Slow())));
  }

  @Test
  void kernelThatDoesNothingWouldWinTheRaceWereItRight() {
    ShardKernel idle =
        new Disguise("idle") {
          @Override
          void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
            if (longs < 100) { // as the check does
              product.multiply(inputs, outputs, longs);
            }
          }
        };
    assertSame(idle, choice.fastest(List.of(new Failing(), idle, new Slow())));
  }

  /** The portable kernel under another name. */
  private static class Disguise implements ShardKernel {

    private final String name;

    Disguise(String name) {
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

  private static final class Slow extends Disguise {

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

  private static final class Failing extends Disguise {

    Failing() {
      super("failing");
    }

    @Override
    void multiply(Product product, long[][] inputs, long[][] outputs, int longs) {
      throw new NoClassDefFoundError("of a missing module");
    }
  }
}
