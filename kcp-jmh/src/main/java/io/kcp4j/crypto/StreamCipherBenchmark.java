package io.kcp4j.crypto;

import io.kcp4j.jmh.KcpBenchmark;
import java.util.Arrays;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * What encrypts packets that are no AEAD's, without nonce, checksum and copies: to hold beside
 * kcp-go's BenchmarkAES128 and its like. It stands in this package to get at it; what a session
 * pays for a packet, {@link io.kcp4j.jmh.PacketCipherBenchmark} tells.
 */
public class StreamCipherBenchmark extends KcpBenchmark {

  private static final int BYTES = 1500;

  /** A cipher, and a packet of zeros. */
  @State(Scope.Thread)
  public static class Packet {

    /** By kcptun's name. Not "cipher": whoever chooses those of other benchmarks may name AEADs. */
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
      cipher = PacketKey.streamCipher(algorithm, key, null);
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
