package io.kcp4j.internal.crypto;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.CryptoVectors.Checksum;
import io.kcp4j.internal.crypto.CryptoVectors.Sealed;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Packets of kcp-go open, and packets sealed here are equal to those of kcp-go, byte for byte. */
class VectorsTest {

  private static final CryptoVectors VECTORS = CryptoVectors.INSTANCE;

  static Stream<CipherAlgorithm> checksumAlgorithms() {
    return VECTORS.checksums().stream().map(Checksum::algorithm).distinct();
  }

  static Stream<CipherAlgorithm> aeadAlgorithms() {
    return VECTORS.aeads().stream().map(Sealed::algorithm).distinct();
  }

  @Test
  void vectorsCoverEveryAlgorithmButNull() {
    EnumSet<CipherAlgorithm> covered = EnumSet.of(CipherAlgorithm.NULL);
    checksumAlgorithms().forEach(covered::add);
    aeadAlgorithms().forEach(covered::add);
    assertEquals(EnumSet.allOf(CipherAlgorithm.class), covered);
    assertEquals(18, covered.size());
  }

  @Test
  void passphraseGivesTheKeyThatKcptunDerives() {
    byte[] salt = "kcp-go".getBytes(US_ASCII);
    byte[] phrase = VECTORS.passphrase().getBytes(US_ASCII);
    assertArrayEquals(VECTORS.derivedKey(), KeyMaterial.pbkdf2(phrase, salt, 4096, 32));
  }

  @ParameterizedTest
  @MethodSource("checksumAlgorithms")
  void singlePacketsAreEncryptedAsInKcpGo(CipherAlgorithm algorithm) {
    StreamCipher cipher = streamCipher(algorithm);
    for (Checksum vector : checksums(algorithm)) {
      PacketGroup group = new PacketGroup();
      put(group, vector.packet());
      cipher.encrypt(group);
      assertArrayEquals(vector.sealed(), packet(group, 0), vector.sealed().length + " bytes");
      cipher.decrypt(group);
      assertArrayEquals(vector.packet(), packet(group, 0), vector.sealed().length + " bytes");
    }
  }

  @ParameterizedTest
  @MethodSource("checksumAlgorithms")
  void groupsOfPacketsAreEncryptedAsInKcpGo(CipherAlgorithm algorithm) {
    StreamCipher cipher = streamCipher(algorithm);
    List<Checksum> vectors = checksums(algorithm);
    Random random = new Random(1);
    for (int packets = 1; packets <= PacketGroup.MAX_PACKETS; packets++) {
      Checksum[] chosen = new Checksum[packets];
      PacketGroup group = new PacketGroup();
      for (int i = 0; i < packets; i++) {
        chosen[i] = vectors.get(random.nextInt(vectors.size()));
        put(group, chosen[i].packet());
      }
      cipher.encrypt(group);
      for (int i = 0; i < packets; i++) {
        assertArrayEquals(chosen[i].sealed(), packet(group, i), "packet " + i + " of " + packets);
      }
      cipher.decrypt(group);
      for (int i = 0; i < packets; i++) {
        assertArrayEquals(chosen[i].packet(), packet(group, i), "packet " + i + " of " + packets);
      }
    }
  }

  @ParameterizedTest
  @MethodSource("checksumAlgorithms")
  void packetsOfKcpGoOpen(CipherAlgorithm algorithm) {
    PacketCipher cipher = ring(algorithm).newCipher();
    for (Checksum vector : checksums(algorithm)) {
      assertArrayEquals(vector.payload(), open(cipher, vector.sealed()));
    }
  }

  @ParameterizedTest
  @MethodSource("aeadAlgorithms")
  void packetsOfGoAeadsOpen(CipherAlgorithm algorithm) {
    PacketCipher cipher = ring(algorithm).newCipher();
    for (Sealed vector : aeads(algorithm)) {
      assertArrayEquals(vector.payload(), open(cipher, vector.sealed()));
    }
  }

  @ParameterizedTest
  @MethodSource("aeadAlgorithms")
  void aeadsSealAsGoDoes(CipherAlgorithm algorithm) {
    Aead aead = CipherLibrary.preferred().aead(algorithm, VECTORS.key(algorithm));
    for (Sealed vector : aeads(algorithm)) {
      byte[] out = Arrays.copyOf(vector.nonce(), vector.sealed().length);
      byte[] payload = vector.payload();
      aead.seal(vector.nonce(), payload, 0, payload.length, out, aead.nonceBytes());
      assertArrayEquals(vector.sealed(), out);
    }
  }

  private static List<Checksum> checksums(CipherAlgorithm algorithm) {
    return VECTORS.checksums().stream().filter(v -> v.algorithm() == algorithm).toList();
  }

  private static List<Sealed> aeads(CipherAlgorithm algorithm) {
    return VECTORS.aeads().stream().filter(v -> v.algorithm() == algorithm).toList();
  }

  private static StreamCipher streamCipher(CipherAlgorithm algorithm) {
    return StreamCipher.of(algorithm, VECTORS.key(algorithm), null);
  }

  private static KeyRing ring(CipherAlgorithm algorithm) {
    return KeyRing.of(PacketKey.ofPassphrase(algorithm, VECTORS.passphrase()));
  }

  private static void put(PacketGroup group, byte[] packet) {
    int start = group.start(group.add(packet.length));
    System.arraycopy(packet, 0, group.data(), start, packet.length);
  }

  private static byte[] packet(PacketGroup group, int i) {
    return Arrays.copyOfRange(group.data(), group.start(i), group.start(i) + group.length(i));
  }

  private static byte[] open(PacketCipher cipher, byte[] sealed) {
    ByteBuf buffer = Unpooled.wrappedBuffer(sealed.clone());
    PacketBatch batch = new PacketBatch().reset(buffer);
    batch.add(0, sealed.length);
    cipher.open(batch);
    assertFalse(batch.isRefused(0), sealed.length + " bytes");
    assertTrue(batch.end(0) <= sealed.length);
    return ByteBufUtil.getBytes(buffer, batch.start(0), batch.end(0) - batch.start(0));
  }
}
