package io.kcp4j.kernel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * Selects one of several kernels for the same computation. A kernel found as a service is used only
 * if its results agree with those of the portable kernel and, unless it was named, if it is faster:
 * the Vector API without intrinsics of the JIT compiler is correct, but a thousand times slower.
 *
 * <p>The benchmark runs on a thread of its own, so that no event loop waits for it; it also warms
 * up the kernels.
 *
 * @param <K> the type of the kernels and of the service
 */
public final class KernelChoice<K> {

  /** Limits the number of services examined, in case one fails repeatedly. */
  private static final int MAX_SERVICES = 16;

  private static final int BENCHMARK_ROUNDS = 5_000;
  private static final int CALLS_PER_ROUND = 4;
  private static final long BENCHMARK_NANOS = 10_000_000_000L;

  private final Trial<K> trial;
  private final K portable;
  private volatile K current;

  /** How to verify and time kernels of a type. */
  public interface Trial<K> {

    /** The name by which users select a kernel. */
    String name(K kernel);

    /** Whether its results agree with those of the portable kernel. An exception means no. */
    boolean agrees(K kernel);

    /** The most frequent operation of a kernel, with its own state. */
    Runnable work(K kernel);
  }

  /** Selects the portable kernel; {@link #start} looks for others. */
  public KernelChoice(K portable, Trial<K> trial) {
    this.portable = portable;
    this.trial = trial;
    current = portable;
  }

  /**
   * Looks for services.
   *
   * @param name of the kernel to use, or null to select the fastest
   * @return this
   */
  public KernelChoice<K> start(Class<K> service, String name) {
    List<K> candidates = services(service);
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

  /** The services that can be loaded. A kernel may need a module that is missing in this JVM. */
  private static <K> List<K> services(Class<K> service) {
    List<K> found = new ArrayList<>();
    Iterator<K> services = ServiceLoader.load(service, service.getClassLoader()).iterator();
    boolean isMore = true;
    for (int i = 0; i < MAX_SERVICES && isMore; i++) {
      try {
        isMore = services.hasNext();
        if (isMore) {
          found.add(services.next());
        }
      } catch (ServiceConfigurationError | LinkageError e) {
        // Not available in this JVM; try the next one.
      }
    }
    return found;
  }

  /** The candidate of that name if it is correct, else the portable kernel. */
  public K named(String name, List<K> candidates) {
    for (K candidate : candidates) {
      if (trial.name(candidate).equals(name) && isCorrect(candidate)) {
        return candidate;
      }
    }
    return portable;
  }

  /** Whether a kernel agrees with the portable one. */
  public boolean isCorrect(K kernel) {
    try {
      return trial.agrees(kernel);
    } catch (RuntimeException | LinkageError e) {
      return false;
    }
  }

  /** The fastest of the correct kernels. */
  public K fastest(List<K> candidates) {
    List<Contender> contenders = new ArrayList<>();
    contenders.add(new Contender(portable));
    for (K candidate : candidates) {
      if (isCorrect(candidate)) {
        contenders.add(new Contender(candidate));
      }
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

    final K kernel;
    private final Runnable work;
    private long leastNanos = Long.MAX_VALUE;

    Contender(K kernel) {
      this.kernel = kernel;
      work = trial.work(kernel);
    }

    void run() {
      long before = System.nanoTime();
      for (int i = 0; i < CALLS_PER_ROUND; i++) {
        work.run();
      }
      leastNanos = Math.min(leastNanos, System.nanoTime() - before);
    }
  }
}
