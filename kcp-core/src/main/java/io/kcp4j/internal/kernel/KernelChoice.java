package io.kcp4j.internal.kernel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Selects the fastest of several kernels for the same computation: the portable kernel, and those
 * that are found as services. The choice depends on the machine and on the JVM: without intrinsics
 * of the JIT compiler, the Vector API is a thousand times slower than the portable kernel. The
 * results of a kernel are verified by the tests of the artifact that ships it, not here.
 *
 * <p>The benchmark runs on a thread of its own, so that no event loop waits for it; it also warms
 * up the kernels.
 *
 * @param <K> the type of the kernels and of the service
 */
public final class KernelChoice<K> {

  /** Limits the number of services loaded, in case one fails repeatedly. */
  private static final int MAX_SERVICES = 16;

  private static final int BENCHMARK_ROUNDS = 5_000;
  private static final int CALLS_PER_ROUND = 4;
  private static final long BENCHMARK_NANOS = 10_000_000_000L;

  private final K portable;
  private final Function<K, String> names;
  private final Function<K, Runnable> work;
  private volatile K current;

  /**
   * Selects the portable kernel; {@link #start} looks for others.
   *
   * @param names the name by which users select a kernel
   * @param work the most frequent operation of a kernel, with its own state
   */
  public KernelChoice(K portable, Function<K, String> names, Function<K, Runnable> work) {
    this.portable = portable;
    this.names = names;
    this.work = work;
    current = portable;
  }

  /**
   * Looks for services.
   *
   * @param name of the kernel to use, or null to select the fastest
   * @return this
   */
  public KernelChoice<K> start(Class<K> service, String name) {
    List<K> candidates =
        load(ServiceLoader.load(service, service.getClassLoader()).iterator(), failure -> {});
    if (name != null) {
      current = named(name, candidates);
    } else if (!candidates.isEmpty()) {
      Thread benchmark = new Thread(() -> current = fastest(candidates), "kcp4j-kernel-benchmark");
      benchmark.setDaemon(true);
      benchmark.start();
    }
    return this;
  }

  /** The kernel to use now. */
  public K current() {
    return current;
  }

  /**
   * The services that load in this JVM: one may need a module or a library that is missing.
   *
   * @param failures takes the reason why a service does not load
   */
  public static <S> List<S> load(Iterator<S> services, Consumer<Throwable> failures) {
    List<S> loaded = new ArrayList<>();
    boolean isMore = true;
    for (int i = 0; i < MAX_SERVICES && isMore; i++) {
      try {
        isMore = services.hasNext();
        if (isMore) {
          loaded.add(services.next());
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        failures.accept(e);
      }
    }
    return loaded;
  }

  /** The candidate of that name, else the portable kernel. */
  K named(String name, List<K> candidates) {
    for (K candidate : candidates) {
      if (names.apply(candidate).equals(name)) {
        return candidate;
      }
    }
    return portable;
  }

  /** The fastest of the candidates and the portable kernel. One that fails is not selected. */
  K fastest(List<K> candidates) {
    List<Contender> contenders = new ArrayList<>();
    contenders.add(new Contender(portable));
    for (K candidate : candidates) {
      contenders.add(new Contender(candidate));
    }
    // Interleaved, since the speed of machines varies, and the first kernel is compiled first.
    long start = System.nanoTime();
    for (int i = 0; i < BENCHMARK_ROUNDS && System.nanoTime() - start < BENCHMARK_NANOS; i++) {
      for (Contender contender : contenders) {
        contender.run();
      }
    }
    return Collections.min(contenders, Comparator.comparingLong(contender -> contender.leastNanos))
        .kernel;
  }

  /** A kernel and the least time that its operation took. */
  private final class Contender {

    private final K kernel;
    private Runnable operation;
    private boolean hasFailed;
    private long leastNanos = Long.MAX_VALUE;

    Contender(K kernel) {
      this.kernel = kernel;
    }

    void run() {
      if (hasFailed) {
        return;
      }
      try {
        if (operation == null) {
          operation = work.apply(kernel);
        }
        long before = System.nanoTime();
        for (int i = 0; i < CALLS_PER_ROUND; i++) {
          operation.run();
        }
        leastNanos = Math.min(leastNanos, System.nanoTime() - before);
      } catch (RuntimeException | LinkageError e) {
        hasFailed = true;
        leastNanos = Long.MAX_VALUE;
      }
    }
  }
}
