package io.kcp4j.internal.session;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.netty.buffer.ByteBufUtil;
import org.junit.jupiter.api.Test;

/** {@link ResetTokens}. */
class ResetTokensTest {

  /** Made by openssl dgst -sha256 -mac HMAC. */
  @Test
  void tokenIsThatOfTheDocument() {
    byte[] token =
        new ResetTokens("0123456789abcdef".getBytes(US_ASCII)).of(0x0807_0605_0403_0201L);
    assertEquals("0ec6783ea7a28322e5c8d2fe413e6757", ByteBufUtil.hexDump(token));
  }

  @Test
  void shortSecretIsRefused() {
    assertThrows(IllegalArgumentException.class, () -> new ResetTokens(new byte[15]));
  }
}
