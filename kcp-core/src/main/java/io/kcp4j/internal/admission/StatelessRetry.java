package io.kcp4j.internal.admission;

import io.kcp4j.internal.crypto.SipHash;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.path.AddressRateLimiter;
import io.kcp4j.internal.path.SessionKey;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;

/**
 * Address validation of clients before their sessions begin (RFC 9000 §8.1). A client that offers
 * the extension is sent a stateless retry (protocol.md 13.6), any other one a challenge that KCP
 * acknowledges (8.8). Nothing is kept for a client that has not answered. Made when an address has
 * to be validated, and dropped when no answer can be valid any more.
 */
public final class StatelessRetry {

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

  StatelessRetry(StatelessResponder responder, long nowUs) {
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

  /**
   * Tokens of stateless retries (RFC 9000 §8.1.2): who shows one has received it at its address not
   * long ago. A token is the SipHash-2-4 (Aumasson and Bernstein, 2012) of the address, the
   * conversation id and the time under a secret, so that nothing has to be kept for it, and a flood
   * of false ones costs little to check. Half of a token is the timestamp of a challenge, which a
   * client without the extension shows by its ACK. Used by one thread.
   */
  public static final class RetryTokens {

    /** A token is valid for the rest of its period, and for the next one. */
    private static final long PERIOD_US = 8_000_000;

    private final SipHash hash = new SipHash(SipHash.newSeed(), SipHash.newSeed());

    /**
     * The token for a client, to be shown soon.
     *
     * @param predecessor the incarnation of the client that has the same address and conversation
     *     id now, or has had it last; 0 for none
     */
    public long of(SessionKey client, int predecessor, long nowUs) {
      return of(client, predecessor, nowUs, 0);
    }

    /** Whether this is a token for that client, and not too old. */
    public boolean isValid(SessionKey client, int predecessor, long token, long nowUs) {
      return token == of(client, predecessor, nowUs, 0)
          || token == of(client, predecessor, nowUs, 1);
    }

    /** The timestamp of a challenge to a client, to be acknowledged soon. */
    public int timestamp(SessionKey client, long nowUs) {
      return (int) of(client, 0, nowUs, 0);
    }

    /** Whether this is the timestamp of a challenge to that client, and not too old. */
    public boolean isTimestamp(SessionKey client, int ts, long nowUs) {
      return ts == (int) of(client, 0, nowUs, 0) || ts == (int) of(client, 0, nowUs, 1);
    }

    public long of(SessionKey client, int predecessor, long nowUs, int periodsAgo) {
      InetSocketAddress remote = client.remote();
      byte[] address = remote.getAddress().getAddress();
      ByteBuffer message = ByteBuffer.allocate(Long.BYTES + 3 * Integer.BYTES + address.length);
      message.putLong(Math.floorDiv(nowUs, PERIOD_US) - periodsAgo).putInt(predecessor);
      message.putInt(client.conv()).putInt(remote.getPort()).put(address);
      return hash.of(message.flip());
    }
  }

  /**
   * The clients that have acknowledged the challenge of an {@link StatelessRetry} within the last 8
   * to 16 s, until they repeat their first datagram. A hash table of small buckets, in which a new
   * client replaces another one when its bucket is full: that is challenged again. With one place
   * in each bucket, two clients that keep the same time could replace each other again and again.
   */
  public static final class AnsweredChallenges {

    private static final int SLOTS = 1 << 14;

    /** As many as two bits can tell apart. */
    private static final int SLOTS_OF_BUCKET = 4;

    private static final long PERIOD_US = 8_000_000;

    private final SessionKey.Hash keyHash = new SessionKey.Hash();

    /** The hash of a client, plus the number of the period of its answer. */
    private final long[] slots = new long[SLOTS];

    private long hash(SessionKey client) {
      return keyHash.of(keyHash.address(client.remote()), client.conv());
    }

    private static int bucket(long hash) {
      return (int) hash & SLOTS - SLOTS_OF_BUCKET;
    }

    private static long period(long nowUs) {
      return Math.floorDiv(nowUs, PERIOD_US);
    }

    /** The slot of a client, or -1. */
    private int find(long hash, long period) {
      int bucket = bucket(hash);
      for (int slot = bucket; slot < bucket + SLOTS_OF_BUCKET; slot++) {
        long periodsAgo = hash + period - slots[slot];
        if (periodsAgo == 0 || periodsAgo == 1) {
          return slot;
        }
      }
      return -1;
    }

    public void add(SessionKey client, long nowUs) {
      long hash = hash(client);
      int slot = find(hash, period(nowUs));
      for (int i = bucket(hash); slot < 0 && i < bucket(hash) + SLOTS_OF_BUCKET; i++) {
        slot = slots[i] == 0 ? i : -1;
      }
      if (slot < 0) {
        slot = bucket(hash) + (int) (hash >>> (Long.SIZE - 2));
      }
      slots[slot] = hash + period(nowUs);
    }

    /** Removes a client; returns whether it was there. */
    public boolean remove(SessionKey client, long nowUs) {
      int slot = find(hash(client), period(nowUs));
      if (slot < 0) {
        return false;
      }
      slots[slot] = 0;
      return true;
    }
  }
}
