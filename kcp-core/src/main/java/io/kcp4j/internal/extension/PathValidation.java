package io.kcp4j.internal.extension;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.extension.ExtensionMessage.Echo;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;

/**
 * Path validation of a session whose sides know each other's tokens (RFC 9000 §8.2): answers the
 * challenges of the peer, of several the last (protocol.md 13.7.2); and challenges a peer that may
 * have moved (13.9), or whose timestamps have jumped ahead (13.12). Made when one of these is first
 * needed.
 */
final class PathValidation {

  /** How often a peer is challenged that may have moved, a probe timeout apart. */
  private static final int MOVE_CHALLENGES = 3;

  private static final int CLOCK_INTERVAL_US = 1_000_000;

  private final Kcp kcp;

  // The challenge of the peer, and when the response has to leave.

  private long peerChallenge;
  private long respondAtUs = Time.NO_DEADLINE;

  // The challenge of a peer that may have moved. Anything that proves the peer alive answers it.

  private long moveChallenge;
  private int moveChallengesSent;
  private long challengeMoveAtUs = Time.NO_DEADLINE;

  // The challenge of a peer whose timestamps have jumped ahead: the clock of a host that was
  // suspended stands still. Another process that has got the peer's address does not know the
  // tokens, and cannot respond.

  /** How many have been sent, negated. */
  private int clockChallengesSent;

  /** The one that was sent last. */
  private long clockChallenge;

  private long challengeClockAtUs = Time.NO_DEADLINE;

  /** The next one leaves no sooner. */
  private long restUntilUs = Long.MIN_VALUE;

  public PathValidation(Kcp kcp) {
    this.kcp = kcp;
  }

  /** The peer has sent a challenge. */
  public void received(long challenge, long nowUs) {
    peerChallenge = challenge;
    respondAtUs = nowUs;
  }

  /** The peer has responded to a challenge. */
  public void responded(long response) {
    if (clockChallengesSent != 0 && response == clockChallenge) {
      kcp.acceptPeerJump();
    }
  }

  /** The peer has responded from another address: it has to answer at this one, or has moved. */
  public void challengeMove(long challenge, long nowUs) {
    moveChallenge = challenge;
    moveChallengesSent = 0;
    challengeMoveAtUs = nowUs;
  }

  /** Something has been received whose sender knows the session: it has not moved. */
  public void receivedAlive() {
    challengeMoveAtUs = Time.NO_DEADLINE;
  }

  /** The timestamps of the peer have jumped ahead. */
  public void challengeClock(long nowUs) {
    if (nowUs >= restUntilUs) {
      challengeClockAtUs = nowUs;
    }
  }

  /**
   * When a challenge or a response has to leave, or {@link Time#NO_DEADLINE}.
   *
   * @param mayChallenge whether messages have room for challenges: those that have an answer of the
   *     extension do not
   */
  public long deadlineUs(boolean mayChallenge) {
    return mayChallenge
        ? Math.min(respondAtUs, Math.min(challengeMoveAtUs, challengeClockAtUs))
        : respondAtUs;
  }

  /** The size of the items that {@link #write} writes. */
  public int itemsBytes(boolean mayChallenge, long nowUs) {
    int challenges = 0;
    if (mayChallenge && challengeClockAtUs != Time.NO_DEADLINE) {
      challenges++;
    }
    if (mayChallenge && challengeMoveAtUs <= nowUs) {
      challenges++;
    }
    int responses = respondAtUs == Time.NO_DEADLINE ? 0 : 1;
    return challenges * ExtensionMessage.itemBytes(ExtensionMessage.PATH_CHALLENGE)
        + responses * ExtensionMessage.itemBytes(ExtensionMessage.PATH_RESPONSE);
  }

  /**
   * Writes the challenges that are due, and the response if there is one.
   *
   * @param token what messages to this side have to show
   * @param peerToken what messages to the peer have to show
   */
  public void write(ByteBuf out, boolean mayChallenge, long token, long peerToken, long nowUs) {
    if (mayChallenge) {
      writeClockChallenge(out, token, peerToken, nowUs);
      writeMoveChallenge(out, nowUs);
    }
    if (respondAtUs != Time.NO_DEADLINE) {
      ExtensionMessage.write(out, ExtensionMessage.PATH_RESPONSE, peerChallenge);
      respondAtUs = Time.NO_DEADLINE;
    }
  }

  private void writeClockChallenge(ByteBuf out, long token, long peerToken, long nowUs) {
    if (challengeClockAtUs != Time.NO_DEADLINE) {
      clockChallengesSent--; // Queries count upwards.
      clockChallenge = Echo.of(token, peerToken, clockChallengesSent).first();
      ExtensionMessage.write(out, ExtensionMessage.PATH_CHALLENGE, clockChallenge);
      challengeClockAtUs = Time.NO_DEADLINE;
      restUntilUs = nowUs + CLOCK_INTERVAL_US;
    }
  }

  private void writeMoveChallenge(ByteBuf out, long nowUs) {
    if (challengeMoveAtUs <= nowUs) {
      ExtensionMessage.write(out, ExtensionMessage.PATH_CHALLENGE, moveChallenge);
      moveChallengesSent++;
      challengeMoveAtUs =
          moveChallengesSent < MOVE_CHALLENGES ? nowUs + kcp.probeTimeoutUs() : Time.NO_DEADLINE;
    }
  }
}
