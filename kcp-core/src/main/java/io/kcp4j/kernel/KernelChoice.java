package io.kcp4j.kernel;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/**
 * Which kernel of a kind is in use. A kernel that was found as a service must have shown that it
 * computes what the portable one does before it is considered, and without a name win a race
 * against it: the Vector API without the intrinsics of the JIT compiler is right, and a thousand
 * times too slow.
 *
 * <p>The race runs on a thread of its own, so that no event loop waits for it; it also makes the
 * JIT compile the kernels.
 *
 * @param <K> the type of the kernels, which is that of the service
 */
public final class KernelChoice<K> {

  /** More services than that are not looked at, should one fail again and again. */
  private static final int MAX_SERVICES = 16;

  private static final int BENCHMARK_ROUNDS = 5_000;
  private static final int CALLS_PER_ROUND = 4;
  private static final long BENCHMARK_NANOS = 10_000_000_000L;

  private final Trial<K> trial;
  private final K portable;
  private volatile K current;

  /** What has to be known of a kind of kernels. */
  public interface Trial<K> {

    /** The name by which users choose a kernel. */
    String name(K kernel);

    /** Whether it agrees with the portable kernel; if it throws, it does not. */
    boolean agrees(K kernel);

    /** What a kernel does most often, on a state of its own. */
    Runnable work(K kernel);
  }

  /** Makes a choice of which only the portable kernel is known; {@link #start} looks for others. */
  public KernelChoice(K portable, Trial<K> trial) {
    this.portable = portable;
    this.trial = trial;
    current = portable;
  }

  /**
   * Looks for services.
   *
   * @param name of the kernel to use, or null to have those that are found race
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

  /** What can be loaded here. A kernel may need a module that this JVM runs without. */
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
        // Not for this JVM; perhaps the next one is.
      }
    }
    return found;
  }

  /** The candidate of that name if it is right, else the portable kernel. */
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

  /** The fastest of those that are right. */
  public K fastest(List<K> candidates) {
    List<Contender> contenders = new ArrayList<>();
    contenders.add(new Contender(portable));
    for (K candidate : candidates) {
      if (isCorrect(candidate)) {
        contenders.add(new Contender(candidate));
      }
    }
    // In turn, since machines are not as fast at all times, and first come first compiled.
    long start = System.nanoTime();
    for (int i = 0; i < BENCHMARK_ROUNDS && System.nanoTime() - start < BENCHMARK_NANOS; i++) {
      for (Contender contender : contenders) {
        contender.run();
      }
    }
    return Collections.min(contenders, Comparator.comparingLong(contender -> contender.leastNanos))
        .kernel;
  }

  /** A kernel at work, and the least time that it took. */
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
