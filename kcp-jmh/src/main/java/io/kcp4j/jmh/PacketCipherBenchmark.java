package io.kcp4j.jmh;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import java.security.Provider;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Sealing and opening packets of one direct buffer with each cipher, as a session does: nonces,
 * checksums and copies to and from the heap included.
 *
 * <p>The benchmarks of kcp-go to compare {@link #seal1400} with are BenchmarkCFB_AES_128_CRC32 and
 * similar ones, which generate no nonce. The ciphers alone are in {@link
 * io.kcp4j.internal.crypto.StreamCipherBenchmark}.
 *
 * <p>The system property {@value #PROVIDER} names the class of a JCE provider to compute with; the
 * algorithms that it lacks fail.
 */
public class PacketCipherBenchmark extends KcpBenchmark {

  /** The largest packet that kcp-go takes. */
  static final int LARGEST_BYTES = 1500;

  static final String PROVIDER = "kcp4j.bench.provider";

  static final int SMALL_BURST = 8;
  static final int LARGE_BURST = 32;

  /** A cipher, and packets of zeros. */
  @State(Scope.Thread)
  public static class Packets {

    /** The cipher, by its kcptun name. */
    @Param({
      "aes",
      "aes-192",
      "aes-128",
      "aes-128-gcm",
      "aes-192-gcm",
      "aes-256-gcm",
      "chacha20-poly1305",
      "salsa20",
      "blowfish",
      "twofish",
      "cast5",
      "3des",
      "tea",
      "xtea",
      "xor",
      "sm4",
      "none",
      "null"
    })
    String cipher;

    private final PacketBatch batch = new PacketBatch();
    private final ByteBuf buffer =
        ALLOCATOR.directBuffer(LARGE_BURST * LARGEST_BYTES, LARGE_BURST * LARGEST_BYTES);
    private PacketCipher packetCipher;

    /** Makes the cipher. */
    @Setup
    public void open() throws ReflectiveOperationException {
      buffer.setZero(0, buffer.capacity());
      PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.of(cipher), "it's a secrect");
      packetCipher = KeyRing.of(withProvider(key)).newCipher();
      check(!sealAndOpen(LARGE_BURST, LARGEST_BYTES).isRefused(0), "a sealed packet did not open");
    }

    private static PacketKey withProvider(PacketKey key) throws ReflectiveOperationException {
      String name = System.getProperty(PROVIDER);
      if (name == null) {
        return key;
      }
      Class<? extends Provider> provider = Class.forName(name).asSubclass(Provider.class);
      return key.withProvider(provider.getConstructor().newInstance());
    }

    PacketBatch seal(int packets, int bytes) {
      batch.reset(buffer);
      for (int i = 0; i < packets; i++) {
        batch.add(i * bytes, (i + 1) * bytes);
      }
      packetCipher.seal(batch);
      return batch;
    }

    PacketBatch sealAndOpen(int packets, int bytes) {
      seal(packets, bytes);
      packetCipher.open(batch);
      return batch;
    }

    /** Frees the buffer. */
    @TearDown
    public void close() {
      buffer.release();
    }
  }

  /** The bytes of one packet. */
  @State(Scope.Thread)
  public static class Bytes {

    private final byte[] from = new byte[LARGEST_BYTES];
    private final byte[] to = new byte[LARGEST_BYTES];
    private final CRC32 crc = new CRC32();

    /** Fills them. */
    @Setup
    public void fill() {
      Arrays.fill(from, (byte) 1);
    }
  }

  /** One packet of 1500 bytes sealed, and opened again. */
  @Benchmark
  public PacketBatch sealAndOpen1500(Packets packets) {
    return packets.sealAndOpen(1, LARGEST_BYTES);
  }

  /** One of 32 packets of 1500 bytes that are sealed together, and opened together. */
  @Benchmark
  @OperationsPerInvocation(LARGE_BURST)
  public PacketBatch sealAndOpen1500In32(Packets packets) {
    return packets.sealAndOpen(LARGE_BURST, LARGEST_BYTES);
  }

  /** One packet of 1400 bytes sealed alone. */
  @Benchmark
  public PacketBatch seal1400(Packets packets) {
    return packets.seal(1, PACKET_BYTES);
  }

  /** One of 8 packets of 1400 bytes that are sealed together. */
  @Benchmark
  @OperationsPerInvocation(SMALL_BURST)
  public PacketBatch seal1400In8(Packets packets) {
    return packets.seal(SMALL_BURST, PACKET_BYTES);
  }

  /** One of 32 packets of 1400 bytes that are sealed together. */
  @Benchmark
  @OperationsPerInvocation(LARGE_BURST)
  public PacketBatch seal1400In32(Packets packets) {
    return packets.seal(LARGE_BURST, PACKET_BYTES);
  }

  /** The baseline: a packet of 1400 bytes copied. */
  @Benchmark
  public byte[] baselineCopy1400(Bytes bytes) {
    System.arraycopy(bytes.from, 0, bytes.to, 0, PACKET_BYTES);
    return bytes.to;
  }

  /** The CRC-32 of 1024 bytes, as kcp-go's BenchmarkCRC32. */
  @Benchmark
  public long crc1024(Bytes bytes) {
    bytes.crc.reset();
    bytes.crc.update(bytes.from, 0, 1024);
    return bytes.crc.getValue();
  }
}
