package io.kcp4j.session;

import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Decides which attempts to begin a session go on while many sessions are not validated:
 * protocol.md 8.8. Made when the pressure begins, and dropped some seconds after.
 */
final class PressureFilter {

  enum Decision {
    /** The attempt goes on. */
    ADMIT,
    /** The attempt goes on, and its sender has shown that it receives at its address. */
    ADMIT_VALIDATED,
    /** The datagram is dropped: its sender will try again. */
    DEFER
  }

  /** So many retries a second at most are sent. */
  private static final int MAX_RETRIES_PER_SECOND = 10_000;

  private static final int MAX_RETRY_BURST = 1_000;

  /** So many attempts a second of each network go on. */
  private static final int MAX_PER_SECOND_AND_PREFIX = 100;

  private static final int MAX_BURST_OF_PREFIX = 200;
  private static final int PREFIX_BUCKETS = 4096;

  private final StatelessResponder responder;
  private final KeyHash hash = new KeyHash();
  private final AttemptFilter attempts;
  private final RetryTokens tokens = new RetryTokens();
  private final TokenBuckets retries;
  private final TokenBuckets prefixes;

  PressureFilter(StatelessResponder responder, long nowUs) {
    this.responder = responder;
    attempts = new AttemptFilter(nowUs);
    retries = new TokenBuckets(1, MAX_RETRIES_PER_SECOND, MAX_RETRY_BURST, nowUs);
    prefixes =
        new TokenBuckets(PREFIX_BUCKETS, MAX_PER_SECOND_AND_PREFIX, MAX_BURST_OF_PREFIX, nowUs);
  }

  /**
   * Decides on an attempt. A client that offers the extension may be sent a retry.
   *
   * @param segments the datagram that would begin the session
   */
  Decision decide(SessionKey client, ByteBuf segments, long nowUs) {
    int offer =
        responder.hasExtension()
            ? ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER)
            : ExtensionMessage.NONE;
    boolean isOffered = offer != ExtensionMessage.NONE;
    long offeredToken = isOffered ? ExtensionMessage.longValue(segments, offer) : 0;
    if (isOffered && tokens.isValid(client, offeredToken, nowUs)) {
      return Decision.ADMIT_VALIDATED;
    }
    if (attempts.addAndTest(client, nowUs) && isPrefixAllowed(client.remote(), nowUs)) {
      return Decision.ADMIT;
    }
    if (isOffered && retries.tryTake(0, nowUs)) {
      long retryToken = tokens.of(client, nowUs);
      responder.answerRetry(client, offeredToken, retryToken);
    }
    return Decision.DEFER;
  }

  private boolean isPrefixAllowed(InetSocketAddress remote, long nowUs) {
    return prefixes.tryTake(hash.prefix(remote), nowUs);
  }
}
