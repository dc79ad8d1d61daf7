package io.kcp4j.internal.crypto;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.ByteBufUtil;
import java.security.GeneralSecurityException;
import java.util.Arrays;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bytes of keys, and keys derived from them. */
class KeyMaterialTest {

  @Test
  void destroyingZeroesTheBytes() {
    byte[] bytes = {1, 2, 3};
    KeyMaterial key = new KeyMaterial(bytes, "AES");
    assertArrayEquals(new byte[] {1, 2, 3}, key.getEncoded());
    assertFalse(key.isDestroyed());
    key.destroy();
    assertTrue(key.isDestroyed());
    assertArrayEquals(new byte[3], bytes);
    assertThrows(IllegalStateException.class, key::getEncoded);
  }

  /** RFC 5869, A.1 and A.3. */
  @ParameterizedTest
  @CsvSource({
    "000102030405060708090a0b0c, f0f1f2f3f4f5f6f7f8f9,"
        + " 3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    "'', '',"
        + " 8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
  })
  void hkdfAgreesWithRfc5869(String salt, String info, String expected) {
    byte[] key = ByteBufUtil.decodeHexDump("0b".repeat(22));
    byte[] derived =
        KeyMaterial.hkdf(key, ByteBufUtil.decodeHexDump(salt), ByteBufUtil.decodeHexDump(info), 42);
    assertEquals(expected, ByteBufUtil.hexDump(derived));
  }

  @Test
  void sizeOfHkdfIsLimited() {
    assertEquals(8160, KeyMaterial.hkdf(new byte[1], new byte[0], new byte[0], 8160).length);
    assertThrows(
        IllegalArgumentException.class,
        () -> KeyMaterial.hkdf(new byte[1], new byte[0], new byte[0], 8161));
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

  @Test
  void pbkdf2AgreesWithRfc6070() {
    assertEquals(
        "4b007901b765489abead49d926f721d065a429c1",
        ByteBufUtil.hexDump(KeyMaterial.pbkdf2(ascii("password"), ascii("salt"), 4096, 20)));
    assertEquals(
        "3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038",
        ByteBufUtil.hexDump(
            KeyMaterial.pbkdf2(
                ascii("passwordPASSWORDpassword"),
                ascii("saltSALTsaltSALTsaltSALTsaltSALTsalt"),
                4096,
                25)));
  }

  @Test
  void secretLongerThanABlockOfSha1IsHashedFirst() {
    byte[] secret = new byte[65];
    Arrays.fill(secret, (byte) 0x61);
    assertEquals(
        ByteBufUtil.hexDump(jdkPbkdf2("a".repeat(65), ascii("salt"), 3, 32)),
        ByteBufUtil.hexDump(KeyMaterial.pbkdf2(secret, ascii("salt"), 3, 32)));
  }

  private static byte[] jdkPbkdf2(String secret, byte[] salt, int rounds, int bytes) {
    try {
      return SecretKeyFactory.getInstance("PBKDF2WithHmacSHA1")
          .generateSecret(new PBEKeySpec(secret.toCharArray(), salt, rounds, 8 * bytes))
          .getEncoded();
    } catch (GeneralSecurityException e) {
      throw new AssertionError(e);
    }
  }

  private static byte[] ascii(String text) {
    return text.getBytes(US_ASCII);
  }
}
