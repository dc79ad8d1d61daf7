package io.kcp4j.session;

import io.kcp4j.Segment;
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

  /** To how many clients a second a challenge is sent, about, and at most. */
  private static final int CHALLENGES_PER_SECOND = 16_000;

  private static final int MAX_CHALLENGES_PER_SECOND = 20_000;

  /**
   * The attempts that go on in a second without a retry or a challenge. At this rate sessions that
   * never answer, which end after 30 s, take less than half of a table.
   */
  private static final int MAX_PER_SECOND = 64;

  /** Those of each network. */
  private static final int MAX_PER_SECOND_AND_PREFIX = 16;

  private static final int MAX_BURST_OF_PREFIX = 32;
  private static final int PREFIX_BUCKETS = 4096;

  private final StatelessResponder responder;
  private final KeyHash hash = new KeyHash();
  private final AttemptFilter attempts;
  private final AttemptSampler repeated;
  private final RetryTokens tokens = new RetryTokens();
  private final AnsweredChallenges answered = new AnsweredChallenges();
  private final TokenBuckets retries;
  private final AttemptSampler challenged;
  private final TokenBuckets prefixes;

  PressureFilter(StatelessResponder responder, long nowUs) {
    this.responder = responder;
    attempts = new AttemptFilter(nowUs);
    repeated = new AttemptSampler(MAX_PER_SECOND, MAX_PER_SECOND, nowUs);
    retries = new TokenBuckets(1, MAX_RETRIES_PER_SECOND, MAX_RETRY_BURST, nowUs);
    challenged = new AttemptSampler(CHALLENGES_PER_SECOND, MAX_CHALLENGES_PER_SECOND, nowUs);
    prefixes =
        new TokenBuckets(PREFIX_BUCKETS, MAX_PER_SECOND_AND_PREFIX, MAX_BURST_OF_PREFIX, nowUs);
  }

  /**
   * Decides on an attempt. A client that offers the extension may be sent a retry, and any other
   * one that has repeated its first datagram a challenge.
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
    if (answered.remove(client, nowUs)) {
      return Decision.ADMIT_VALIDATED;
    }
    boolean isRepeated = attempts.addAndTest(client, nowUs);
    if (isRepeated && isChosen(client.remote(), nowUs)) {
      return Decision.ADMIT;
    }
    if (isOffered && retries.tryTake(0, nowUs)) {
      long retryToken = tokens.of(client, nowUs);
      responder.answerRetry(client, offeredToken, retryToken);
    } else if (isRepeated && !isOffered && challenged.choose(nowUs)) {
      responder.challenge(client, tokens.timestamp(client, nowUs));
    }
    return Decision.DEFER;
  }

  private boolean isChosen(InetSocketAddress remote, long nowUs) {
    int prefix = hash.prefix(remote);
    return prefixes.hasToken(prefix, nowUs)
        && repeated.choose(nowUs)
        && prefixes.take(prefix, nowUs);
  }

  /**
   * Takes in the ACK of a challenge: the next attempt of the client goes on.
   *
   * @return whether the segments of an unknown client are that
   */
  boolean receiveAck(SessionKey client, ByteBuf segments, long nowUs) {
    boolean isAnswer =
        StatelessResponder.isChallengeAck(segments)
            && tokens.isTimestamp(client, Segment.ts(segments, segments.readerIndex()), nowUs);
    if (isAnswer) {
      answered.add(client, nowUs);
    }
    return isAnswer;
  }
}
