package io.kcp4j.session;

import io.kcp4j.session.AddressRateLimiter.Scope;
import java.net.InetSocketAddress;

/**
 * How often the sessions of one address together may exceed what their paths allow, before these
 * are validated: protocol.md 8.7. Each conversation is sent three bytes for each one received, so
 * that the excess alone has to be counted for an address. An address is one of IPv4, or 56 bits of
 * one of IPv6, whatever the port.
 *
 * <p>Thread-safe: the tables of a server share it. Only sessions whose paths are not validated use
 * it, and only beyond their limit.
 */
final class AddressExcess {

  /** Players behind one address begin sessions at this rate at least. */
  private static final int FIRST_PER_SECOND = 64;

  private static final int MAX_FIRST_BURST = 64;

  /** Few answers are lost and have to be repeated. */
  private static final int FURTHER_PER_SECOND = 8;

  private static final int MAX_FURTHER_BURST = 64;

  private static final int BUCKETS = 4096;

  private final AddressRateLimiter first =
      new AddressRateLimiter(Scope.HOST, BUCKETS, FIRST_PER_SECOND, MAX_FIRST_BURST);
  private final AddressRateLimiter further =
      new AddressRateLimiter(Scope.HOST, BUCKETS, FURTHER_PER_SECOND, MAX_FURTHER_BURST);

  /** Whether the first small segment of a session may exceed the limit. */
  boolean hasFirst(InetSocketAddress remote, long nowUs) {
    return first.hasToken(remote, nowUs);
  }

  /** Takes it from the address, if that may exceed the limit. */
  boolean takeFirst(InetSocketAddress remote, long nowUs) {
    return first.tryTake(remote, nowUs);
  }

  /** Takes another small segment, or a probe, from the address, if that may exceed the limit. */
  boolean takeFurther(InetSocketAddress remote, long nowUs) {
    return further.tryTake(remote, nowUs);
  }
}
