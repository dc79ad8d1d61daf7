package io.kcp4j.session;

import io.kcp4j.session.AddressRateLimiter.Sampled;
import io.kcp4j.session.AddressRateLimiter.Scope;
import io.kcp4j.session.AttemptDecider.Decision;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Decides which attempts to begin a session go on while many sessions are not validated:
 * protocol.md 8.8. Made when the pressure begins, and dropped some seconds after.
 */
final class PressureFilter {

  /**
   * The attempts that go on in a second without a retry or a challenge. At this rate sessions that
   * never answer, which end after 30 s, take less than half of a table.
   */
  private static final int MAX_PER_SECOND = 64;

  /** Those of each network. */
  private static final int MAX_PER_SECOND_AND_PREFIX = 16;

  private static final int MAX_BURST_OF_PREFIX = 32;
  private static final int PREFIX_BUCKETS = 4096;

  private final AddressValidation validation;
  private final AttemptFilter attempts;
  private final Sampled repeated;
  private final AddressRateLimiter networks;

  PressureFilter(AddressValidation validation, long nowUs) {
    this.validation = validation;
    attempts = new AttemptFilter(nowUs);
    repeated = new Sampled(MAX_PER_SECOND, MAX_PER_SECOND, nowUs);
    networks =
        new AddressRateLimiter(
            Scope.NETWORK, PREFIX_BUCKETS, MAX_PER_SECOND_AND_PREFIX, MAX_BURST_OF_PREFIX);
  }

  /**
   * Decides on an attempt. A client that offers the extension may be sent a retry, and any other
   * one that has repeated its first datagram a challenge.
   *
   * @param segments the datagram that would begin the session
   */
  Decision decide(SessionKey client, ByteBuf segments, long nowUs) {
    int offer = validation.findOffer(segments);
    if (validation.isValidated(client, segments, offer, nowUs)) {
      return Decision.ADMIT_VALIDATED;
    }
    boolean isRepeated = attempts.addAndTest(client, nowUs);
    if (isRepeated && isChosen(client.remote(), nowUs)) {
      return Decision.ADMIT;
    }
    if (offer != ExtensionMessage.NONE || isRepeated) {
      validation.ask(client, segments, offer, nowUs);
    }
    return Decision.DEFER;
  }

  private boolean isChosen(InetSocketAddress remote, long nowUs) {
    return networks.hasToken(remote, nowUs)
        && repeated.tryTake(nowUs)
        && networks.takeOrOwe(remote, nowUs);
  }
}
