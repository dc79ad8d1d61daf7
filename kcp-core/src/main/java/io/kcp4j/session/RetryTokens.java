package io.kcp4j.session;

import io.kcp4j.crypto.HashSeed;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * Tokens of stateless retries (RFC 9000 §8.1.2): who shows one has received it at its address not
 * long ago. A token is the beginning of a keyed hash of the address, the conversation id and the
 * time, so that nothing has to be kept for it. Used by one thread.
 */
final class RetryTokens {

  /** A token is valid for the rest of its period, and for the next one. */
  private static final long PERIOD_US = 8_000_000;

  private static final int SECRET_BYTES = 32;

  private final Hmac hmac = new Hmac(secret());

  private static byte[] secret() {
    ByteBuffer secret = ByteBuffer.allocate(SECRET_BYTES);
    while (secret.hasRemaining()) {
      secret.putLong(HashSeed.next());
    }
    return secret.array();
  }

  /** The token for a client, to be shown soon. */
  long of(SessionKey client, long nowUs) {
    return of(client, nowUs, 0);
  }

  /** Whether this is a token for that client, and not too old. */
  boolean isValid(SessionKey client, long token, long nowUs) {
    return token == of(client, nowUs, 0) || token == of(client, nowUs, 1);
  }

  private long of(SessionKey client, long nowUs, int periodsAgo) {
    InetSocketAddress remote = client.remote();
    byte[] address = remote.getAddress().getAddress();
    ByteBuffer message = ByteBuffer.allocate(Long.BYTES + 2 * Integer.BYTES + address.length);
    message.putLong(Math.floorDiv(nowUs, PERIOD_US) - periodsAgo);
    message.putInt(client.conv()).putInt(remote.getPort()).put(address);
    return ByteBuffer.wrap(hmac.of(message.array())).getLong();
  }
}
