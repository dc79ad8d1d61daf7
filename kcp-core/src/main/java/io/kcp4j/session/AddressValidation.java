package io.kcp4j.session;

import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/**
 * Validates the addresses of clients before their sessions begin (RFC 9000 §8.1). A client that
 * offers the extension is sent a stateless retry (protocol.md 13.6), any other one a challenge that
 * KCP acknowledges (8.8). Nothing is kept for a client that has not answered. Made when an address
 * has to be validated, and dropped when no answer can be valid any more.
 */
final class AddressValidation {

  /** How many retries are sent in a second, about, and at most. */
  private static final int RETRIES_PER_SECOND = 8_000;

  private static final int MAX_RETRIES_PER_SECOND = 10_000;

  /** To how many clients a second a challenge is sent, about, and at most. */
  private static final int CHALLENGES_PER_SECOND = 16_000;

  private static final int MAX_CHALLENGES_PER_SECOND = 20_000;

  private final StatelessResponder responder;
  private final RetryTokens tokens = new RetryTokens();
  private final AnsweredChallenges answered = new AnsweredChallenges();
  private final AddressRateLimiter.Sampled retried;
  private final AddressRateLimiter.Sampled challenged;

  AddressValidation(StatelessResponder responder, long nowUs) {
    this.responder = responder;
    retried = new AddressRateLimiter.Sampled(RETRIES_PER_SECOND, MAX_RETRIES_PER_SECOND, nowUs);
    challenged =
        new AddressRateLimiter.Sampled(CHALLENGES_PER_SECOND, MAX_CHALLENGES_PER_SECOND, nowUs);
  }

  /** The index of the offer in a first datagram, or {@link ExtensionMessage#NONE}. */
  int findOffer(ByteBuf segments) {
    return responder.hasExtension()
        ? ExtensionMessage.findInSegments(segments, ExtensionMessage.OFFER)
        : ExtensionMessage.NONE;
  }

  /**
   * Whether a client has shown that it receives at its address. The answer to a challenge counts
   * once.
   *
   * @param segments its first datagram
   * @param offer what {@link #findOffer} has returned
   */
  boolean isValidated(SessionKey client, ByteBuf segments, int offer, long nowUs) {
    return showsToken(client, 0, segments, offer, nowUs) || answered.remove(client, nowUs);
  }

  /**
   * Whether a client that offers the extension has answered a retry.
   *
   * @param predecessor that for which {@link #retry} was called, or 0
   */
  boolean showsToken(SessionKey client, int predecessor, ByteBuf segments, int offer, long nowUs) {
    return offer != ExtensionMessage.NONE
        && tokens.isValid(client, predecessor, ExtensionMessage.longValue(segments, offer), nowUs);
  }

  /**
   * Sends a client a retry or a challenge, unless too many are sent. One that offers the extension
   * answers either, but a retry at once.
   */
  void ask(SessionKey client, ByteBuf segments, int offer, long nowUs) {
    if (!retry(client, 0, segments, offer, nowUs) && challenged.tryTake(nowUs)) {
      responder.challenge(client, tokens.timestamp(client, nowUs));
    }
  }

  /**
   * Sends a client that offers the extension a retry, unless too many are sent.
   *
   * @param predecessor the incarnation of the client that has the same address and conversation id
   *     now, or has had it last; 0 for none
   */
  boolean retry(SessionKey client, int predecessor, ByteBuf segments, int offer, long nowUs) {
    if (offer == ExtensionMessage.NONE || !retried.tryTake(nowUs)) {
      return false;
    }
    long offeredToken = ExtensionMessage.longValue(segments, offer);
    responder.answerRetry(client, offeredToken, tokens.of(client, predecessor, nowUs));
    return true;
  }

  /**
   * Takes in the ACK of a challenge.
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
