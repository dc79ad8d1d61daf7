package io.kcp4j.crypto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.buffer.ByteBufUtil;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link Hkdf} and what keys derive by it. */
class HkdfTest {

  /** RFC 5869, A.1 and A.3. */
  @ParameterizedTest
  @CsvSource({
    "000102030405060708090a0b0c, f0f1f2f3f4f5f6f7f8f9,"
        + " 3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    "'', '',"
        + " 8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
  })
  void vectorsOfTheRfc(String salt, String info, String expected) {
    byte[] key = ByteBufUtil.decodeHexDump("0b".repeat(22));
    byte[] derived =
        Hkdf.derive(key, ByteBufUtil.decodeHexDump(salt), ByteBufUtil.decodeHexDump(info), 42);
    assertEquals(expected, ByteBufUtil.hexDump(derived));
  }

  @Test
  void sizeIsLimited() {
    assertEquals(8160, Hkdf.derive(new byte[1], new byte[0], new byte[0], 8160).length);
    assertThrows(
        IllegalArgumentException.class,
        () -> Hkdf.derive(new byte[1], new byte[0], new byte[0], 8161));
  }

  @Test
  void secretsOfAKeyDependOnTheKeyAndThePurpose() {
    PacketKey key = PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]);
    byte[] other = new byte[16];
    other[0] = 1;
    byte[] secret = key.derive("a", 16);
    assertArrayEquals(
        secret, PacketKey.of(CipherAlgorithm.AES_128_GCM, new byte[16]).derive("a", 16));
    assertFalse(Arrays.equals(secret, key.derive("b", 16)));
    assertFalse(
        Arrays.equals(secret, PacketKey.of(CipherAlgorithm.AES_128_GCM, other).derive("a", 16)));
  }

  @Test
  void keyWithoutSecretBytesDerivesNothing() {
    assertNull(PacketKey.of(CipherAlgorithm.NULL, new byte[0]).derive("a", 16));
  }
}
