package io.kcp4j.internal.admission;

import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.path.AddressRateLimiter;
import io.kcp4j.internal.path.AddressRateLimiter.Sampled;
import io.kcp4j.internal.path.AddressRateLimiter.Scope;
import io.kcp4j.internal.path.SessionKey;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.function.Supplier;

/**
 * Decides on attempts to begin a session that may not simply go on: under the pressure of many
 * sessions that are not validated (protocol.md 8.8), and under an AEAD those that a {@link
 * ReplayFilter} takes for replays (8.10).
 */
final class AttemptFilter {

  /** What becomes of an attempt to begin a session. */
  enum Decision {
    /** It goes on. */
    ADMIT,
    /** It goes on, and its sender has shown that it receives at its address. */
    ADMIT_VALIDATED,
    /** The datagram is dropped under pressure: its sender will try again. */
    DEFER,
    /** The datagram may be a replay: its sender is asked to show that it receives there. */
    VALIDATE,
    /** No session would be accepted. */
    REFUSE
  }

  /** The time for which the pressure filter is kept after the pressure. */
  private static final int KEEP_PRESSURE_US = 5_000_000;

  /** The time for which an answer to a retry or a challenge is valid at most. */
  private static final int KEEP_VALIDATION_US = 16_000_000;

  private final StatelessResponder responder;

  /** The filter for replayed packets, which is made when it is first needed. */
  private final Supplier<ReplayFilter> replays;

  /** Null while there has been no pressure for some seconds. */
  private Pressure pressure;

  private long pressureUsedAtUs;

  /** Null while no address has been validated for some seconds. */
  private StatelessRetry validation;

  private long validationUsedAtUs;

  AttemptFilter(StatelessResponder responder, Supplier<ReplayFilter> replays) {
    this.responder = responder;
    this.replays = replays;
  }

  /** Releases what has not been used for some seconds. */
  void sweep(long nowUs) {
    if (nowUs - pressureUsedAtUs >= KEEP_PRESSURE_US) {
      pressure = null;
    }
    if (pressure == null && nowUs - validationUsedAtUs >= KEEP_VALIDATION_US) {
      validation = null;
    }
  }

  private StatelessRetry validation(long nowUs) {
    validationUsedAtUs = nowUs;
    if (validation == null) {
      validation = new StatelessRetry(responder, nowUs);
    }
    return validation;
  }

  /** Whether segments are the answer to a challenge: the client's next attempt goes on. */
  boolean receiveChallengeAck(SessionKey client, ByteBuf segments, long nowUs) {
    boolean isAck = validation != null && validation.receiveAck(client, segments, nowUs);
    if (isAck) {
      validationUsedAtUs = nowUs;
    }
    return isAck;
  }

  /**
   * Decides on a packet of a client that has begun again, with the address and conversation id of a
   * session that lives or was closed: another process, as its incarnation shows (protocol.md
   * 13.12). It has to show that it receives there, as {@code predecessor} does not any more. The
   * packet is no replay if it shows a token that was obtained for this predecessor: no session has
   * begun since.
   *
   * @param predecessor the incarnation of that session's client
   * @return whether the packet begins a session; if not, the client is sent a retry, unless it has
   *     answered one
   */
  boolean admitsSuccessor(SessionKey client, int predecessor, ByteBuf packet, long nowUs) {
    StatelessRetry validation = validation(nowUs);
    int offer = validation.findOffer(packet);
    if (validation.showsToken(client, predecessor, packet, offer, nowUs)) {
      return FirstPacket.classify(packet) == FirstPacket.Kind.BEGINS;
    }
    validation.retry(client, predecessor, packet, offer, nowUs);
    return false;
  }

  // Replays

  /**
   * Whether a first packet has the conversation id of an earlier one, or has begun a session
   * before. Remembers the conversation id.
   */
  boolean mayBeReplay(int conv, long nonce, long nowUs) {
    return replays.get().addConv(conv, nowUs) || replays.get().containsNonce(nonce, nowUs);
  }

  /**
   * Decides on a packet that may be a replay. Somebody who relays a challenge to the client, and
   * its answer back, can have any address validated, so no packet begins two sessions.
   *
   * @param hasBegun whether a session lives that the packet has begun
   */
  Decision decideOnReplay(
      SessionKey client, ByteBuf packet, long nonce, boolean hasBegun, long nowUs) {
    StatelessRetry validation = validation(nowUs);
    int offer = validation.findOffer(packet);
    if (!hasBegun
        && !replays.get().containsNonce(nonce, nowUs)
        && validation.isValidated(client, packet, offer, nowUs)) {
      return Decision.ADMIT_VALIDATED;
    }
    validation.ask(client, packet, offer, nowUs);
    return Decision.VALIDATE;
  }

  /**
   * The hash of the nonce of a packet, or 0 if no AEAD has opened it.
   *
   * @param start where the packet begins, behind the nonce
   */
  long hashOfNonce(ByteBuf segments, int start, int nonceBytes) {
    return nonceBytes == 0
        ? 0
        : replays.get().hashOfNonce(segments, start - nonceBytes, nonceBytes);
  }

  /** Remembers the nonce of a packet that begins a session; returns whether it was known. */
  boolean addNonce(long nonce, long nowUs) {
    return replays.get().addNonce(nonce, nowUs);
  }

  // Pressure

  /** Decides under the pressure of many sessions that are not validated. */
  Decision decideUnderPressure(SessionKey client, ByteBuf segments, long nowUs) {
    pressureUsedAtUs = nowUs;
    StatelessRetry validation = validation(nowUs);
    if (pressure == null) {
      pressure = new Pressure(validation, nowUs);
    }
    return pressure.decide(client, segments, nowUs);
  }

  /** Decides under pressure. Made when it begins, and dropped some seconds after. */
  private static final class Pressure {

    /**
     * The attempts that go on in a second without a retry or a challenge. At this rate sessions
     * that never answer, which end after 30 s, take less than half of a table.
     */
    private static final int MAX_PER_SECOND = 64;

    /** Those of each network. */
    private static final int MAX_PER_SECOND_AND_NETWORK = 16;

    private static final int MAX_BURST_OF_NETWORK = 32;
    private static final int NETWORK_BUCKETS = 4096;

    private final StatelessRetry validation;
    private final RepeatFilter attempts;
    private final Sampled repeated;
    private final AddressRateLimiter networks =
        new AddressRateLimiter(
            Scope.NETWORK, NETWORK_BUCKETS, MAX_PER_SECOND_AND_NETWORK, MAX_BURST_OF_NETWORK);

    Pressure(StatelessRetry validation, long nowUs) {
      this.validation = validation;
      attempts = new RepeatFilter(nowUs);
      repeated = new Sampled(MAX_PER_SECOND, MAX_PER_SECOND, nowUs);
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

  /**
   * Tells first attempts to begin a session from repeated ones, without an entry for each: a Bloom
   * filter of two generations, of which the older one is cleared from time to time. A client
   * repeats its first datagram within a second; a forged address is seldom used twice.
   *
   * <p>By its size, one first attempt in 7,000 is taken for a repeated one at 100,000 a second.
   */
  static final class RepeatFilter {

    /** A generation takes 1 MiB. */
    private static final int BITS = 1 << 23;

    private static final int HASHES = 4;
    private static final int GENERATION_US = 2_000_000;

    private final SessionKey.Hash keyHash = new SessionKey.Hash();

    private long[] current = new long[BITS / Long.SIZE];
    private long[] previous = new long[BITS / Long.SIZE];
    private long startedAtUs;

    RepeatFilter(long nowUs) {
      startedAtUs = nowUs;
    }

    /**
     * Whether an attempt of this key was added within the last two to four seconds; adds this one.
     */
    boolean addAndTest(SessionKey key, long nowUs) {
      rotate(nowUs);
      long hash = keyHash.of(keyHash.address(key.remote()), key.conv());
      int step = (int) (hash >>> 32) | 1;
      boolean isInCurrent = true;
      boolean isInPrevious = true;
      int bit = (int) hash;
      for (int i = 0; i < HASHES; i++, bit += step) {
        int word = (bit & BITS - 1) >> 6;
        long mask = 1L << bit;
        isInCurrent &= (current[word] & mask) != 0;
        isInPrevious &= (previous[word] & mask) != 0;
        current[word] |= mask;
      }
      return isInCurrent || isInPrevious;
    }

    private void rotate(long nowUs) {
      for (int i = 0; i < 2 && nowUs - startedAtUs >= GENERATION_US; i++) {
        long[] cleared = previous;
        Arrays.fill(cleared, 0);
        previous = current;
        current = cleared;
        startedAtUs = i == 0 ? startedAtUs + GENERATION_US : nowUs;
      }
    }
  }
}
