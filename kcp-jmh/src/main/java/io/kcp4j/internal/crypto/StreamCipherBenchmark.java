package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.jmh.KcpBenchmark;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * The ciphers of packets without an AEAD, without nonce, checksum and copies: to compare with
 * kcp-go's BenchmarkAES128 and similar ones. In this package for access; the cost of a packet in a
 * session is measured by {@link io.kcp4j.jmh.PacketCipherBenchmark}.
 */
public class StreamCipherBenchmark extends KcpBenchmark {

  private static final int BYTES = 1500;

  /** A cipher, and a packet of zeros. */
  @State(Scope.Thread)
  public static class Packet {

    /** The kcptun name. Not called "cipher": that parameter of other benchmarks may name AEADs. */
    @Param({
      "aes",
      "aes-192",
      "aes-128",
      "salsa20",
      "blowfish",
      "twofish",
      "cast5",
      "3des",
      "tea",
      "xtea",
      "xor",
      "sm4"
    })
    String streamCipher;

    private final PacketGroup group = new PacketGroup();
    private StreamCipher cipher;

    /** Makes the cipher. */
    @Setup
    public void make() {
      CipherAlgorithm algorithm = CipherAlgorithm.of(streamCipher);
      byte[] key = new byte[algorithm.keyBytes()];
      Arrays.fill(key, (byte) 1);
      cipher = StreamCipher.of(algorithm, key, null);
      group.add(BYTES);
    }
  }

  /** 1500 bytes encrypted, and decrypted again. */
  @Benchmark
  public Object encryptAndDecrypt1500(Packet packet) {
    packet.cipher.encrypt(packet.group);
    packet.cipher.decrypt(packet.group);
    return packet.group;
  }
}
