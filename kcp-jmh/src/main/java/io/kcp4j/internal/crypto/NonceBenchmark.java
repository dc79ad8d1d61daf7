package io.kcp4j.internal.crypto;

import io.kcp4j.jmh.KcpBenchmark;
import java.security.SecureRandom;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** One nonce of 16 bytes; compares with kcp-go's BenchmarkCsprngAES128. */
public class NonceBenchmark extends KcpBenchmark {

  private static final int NONCE_BYTES = 16;

  /** The sources of random bytes, and a target array. */
  @State(Scope.Thread)
  public static class Sources {

    private final SecureRandom system = new SecureRandom();
    private final NonceSource nonces = new NonceSource(system);
    private final byte[] nonce = new byte[NONCE_BYTES];
  }

  /** A nonce of {@link NonceSource}. */
  @Benchmark
  public byte[] nonce16(Sources sources) {
    sources.nonces.next(sources.nonce, 0, NONCE_BYTES);
    return sources.nonce;
  }

  /** The baseline: the random source of the system. */
  @Benchmark
  public byte[] baselineSystem(Sources sources) {
    sources.system.nextBytes(sources.nonce);
    return sources.nonce;
  }
}
