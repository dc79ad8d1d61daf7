package io.kcp4j.session;

import io.kcp4j.crypto.HashSeed;
import io.kcp4j.crypto.SipHash;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * Tokens of stateless retries (RFC 9000 §8.1.2): who shows one has received it at its address not
 * long ago. A token is the SipHash-2-4 (Aumasson and Bernstein, 2012) of the address, the
 * conversation id and the time under a secret, so that nothing has to be kept for it, and a flood
 * of false ones costs little to check. Half of a token is the timestamp of a challenge, which a
 * client without the extension shows by its ACK. Used by one thread.
 */
final class RetryTokens {

  /** A token is valid for the rest of its period, and for the next one. */
  private static final long PERIOD_US = 8_000_000;

  private final SipHash hash = new SipHash(HashSeed.next(), HashSeed.next());

  /**
   * The token for a client, to be shown soon.
   *
   * @param predecessor the incarnation of the client that has the same address and conversation id
   *     now, or has had it last; 0 for none
   */
  long of(SessionKey client, int predecessor, long nowUs) {
    return of(client, predecessor, nowUs, 0);
  }

  /** Whether this is a token for that client, and not too old. */
  boolean isValid(SessionKey client, int predecessor, long token, long nowUs) {
    return token == of(client, predecessor, nowUs, 0) || token == of(client, predecessor, nowUs, 1);
  }

  /** The timestamp of a challenge to a client, to be acknowledged soon. */
  int timestamp(SessionKey client, long nowUs) {
    return (int) of(client, 0, nowUs, 0);
  }

  /** Whether this is the timestamp of a challenge to that client, and not too old. */
  boolean isTimestamp(SessionKey client, int ts, long nowUs) {
    return ts == (int) of(client, 0, nowUs, 0) || ts == (int) of(client, 0, nowUs, 1);
  }

  private long of(SessionKey client, int predecessor, long nowUs, int periodsAgo) {
    InetSocketAddress remote = client.remote();
    byte[] address = remote.getAddress().getAddress();
    ByteBuffer message = ByteBuffer.allocate(Long.BYTES + 3 * Integer.BYTES + address.length);
    message.putLong(Math.floorDiv(nowUs, PERIOD_US) - periodsAgo).putInt(predecessor);
    message.putInt(client.conv()).putInt(remote.getPort()).put(address);
    return hash.of(message.flip());
  }
}
