package io.kcp4j.session;

import io.kcp4j.MemoryBudget;
import io.netty.buffer.ByteBuf;

/**
 * Decides on attempts to begin a session that may not simply go on: under pressure by a {@link
 * PressureFilter}, and under an AEAD those that a {@link ReplayFilter} takes for replays. The key
 * of the attempt is the last one of the index.
 */
final class AttemptDecider {

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

  /** The filter stays for so long after the pressure. */
  private static final int KEEP_FILTER_US = 5_000_000;

  /** An answer to a retry or a challenge is valid for so long at most. */
  private static final int KEEP_VALIDATION_US = 16_000_000;

  private final SessionIndex index;
  private final SessionDirectory directory;
  private final StatelessResponder responder;
  private final MemoryBudget budget;

  /** Null while there has been no pressure for some seconds. */
  private PressureFilter filter;

  private long filterUsedAtUs;

  /** Null while no address has been validated for some seconds. */
  private AddressValidation validation;

  private long validationUsedAtUs;

  AttemptDecider(
      SessionIndex index,
      SessionDirectory directory,
      StatelessResponder responder,
      MemoryBudget budget) {
    this.index = index;
    this.directory = directory;
    this.responder = responder;
    this.budget = budget;
  }

  /** Releases what has not been used for some seconds. */
  void sweep(long nowUs) {
    if (nowUs - filterUsedAtUs >= KEEP_FILTER_US) {
      filter = null;
    }
    if (filter == null && nowUs - validationUsedAtUs >= KEEP_VALIDATION_US) {
      validation = null;
    }
  }

  /** Decides under the pressure of many sessions that are not validated. */
  Decision decideUnderPressure(ByteBuf segments, long nowUs) {
    return filter(nowUs).decide(index.lastKey(), segments, nowUs);
  }

  private PressureFilter filter(long nowUs) {
    filterUsedAtUs = nowUs;
    validationUsedAtUs = nowUs;
    if (filter == null) {
      filter = new PressureFilter(validation(nowUs), nowUs);
    }
    return filter;
  }

  private AddressValidation validation(long nowUs) {
    validationUsedAtUs = nowUs;
    if (validation == null) {
      validation = new AddressValidation(responder, nowUs);
    }
    return validation;
  }

  /** Whether segments are the answer to a challenge: the client's next attempt goes on. */
  boolean receiveChallengeAck(ByteBuf segments, long nowUs) {
    boolean isAck = validation != null && validation.receiveAck(index.lastKey(), segments, nowUs);
    if (isAck) {
      validationUsedAtUs = nowUs;
    }
    return isAck;
  }

  // Replays

  private ReplayFilter replays() {
    return directory.replayFilter(budget);
  }

  /**
   * Whether a first packet has the conversation id of an earlier one or of a session that lives, or
   * has begun a session before. Remembers the conversation id.
   */
  boolean mayBeReplay(long nonce, long nowUs) {
    int conv = index.lastKey().conv();
    boolean isOfSession = directory.authenticated().contains(conv); // Asked first: see its end.
    return replays().addConv(conv, nowUs) || isOfSession || replays().containsNonce(nonce, nowUs);
  }

  /** Whether a packet with this nonce has begun a session before, as far as is remembered. */
  private boolean hasBegun(int conv, long nonce, long nowUs) {
    return directory.authenticated().isBegunBy(conv, nonce)
        || replays().containsNonce(nonce, nowUs);
  }

  /**
   * Decides on a packet of a client that has begun again, with the address and conversation id of a
   * session that lives or was closed. It has to show that it receives there, as {@code predecessor}
   * does not any more. The packet is no replay if it shows a token that was obtained for this
   * predecessor: no session has begun since.
   *
   * @param predecessor the incarnation of that session's client
   */
  boolean admitsSuccessor(SessionKey client, int predecessor, ByteBuf packet, long nowUs) {
    AddressValidation validation = validation(nowUs);
    int offer = validation.findOffer(packet);
    if (validation.showsToken(client, predecessor, packet, offer, nowUs)) {
      return true;
    }
    validation.retry(client, predecessor, packet, offer, nowUs);
    return false;
  }

  /**
   * Decides on a packet that may be a replay. Somebody who relays a challenge to the client, and
   * its answer back, can have any address validated, so no packet begins two sessions.
   */
  Decision decideOnReplay(ByteBuf packet, long nonce, long nowUs) {
    SessionKey client = index.lastKey();
    AddressValidation validation = validation(nowUs);
    int offer = validation.findOffer(packet);
    if (!hasBegun(client.conv(), nonce, nowUs)
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
    return nonceBytes == 0 ? 0 : replays().hashOfNonce(segments, start - nonceBytes, nonceBytes);
  }

  /** Remembers the nonce of a packet that begins a session; returns whether it was known. */
  boolean addNonce(long nonce, long nowUs) {
    return replays().addNonce(nonce, nowUs);
  }
}
