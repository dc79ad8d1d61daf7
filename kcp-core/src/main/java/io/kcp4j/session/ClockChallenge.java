package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/**
 * Finds out whether a peer whose timestamps have jumped ahead is the one of the session: the clock
 * of a host that was suspended stands still. Another process that has got the peer's address does
 * not know the tokens, and cannot respond: protocol.md 13.12.
 */
final class ClockChallenge {

  private static final int INTERVAL_US = 1_000_000;

  private final Kcp kcp;

  /** How many have been sent, negated. */
  private int sent;

  /** The one that was sent last. */
  private long challenge;

  private long sendAtUs;

  /** The next one leaves no sooner. */
  private long restUntilUs;

  ClockChallenge(Kcp kcp, long nowUs) {
    this.kcp = kcp;
    sendAtUs = nowUs;
  }

  /** Timestamps have jumped again. */
  void renew(long nowUs) {
    if (nowUs >= restUntilUs) {
      sendAtUs = nowUs;
    }
  }

  /** When a challenge has to leave, or {@link Kcp#NO_DEADLINE}. */
  long deadlineUs() {
    return sendAtUs;
  }

  /** The size of the item that {@link #write} writes. */
  int itemBytes() {
    return sendAtUs == Kcp.NO_DEADLINE
        ? 0
        : ExtensionMessage.itemBytes(ExtensionMessage.PATH_CHALLENGE);
  }

  /**
   * Writes a challenge, if one is due.
   *
   * @param token what messages to this side have to show
   * @param peerToken what messages to the peer have to show
   */
  void write(ByteBuf out, long token, long peerToken, long nowUs) {
    if (sendAtUs != Kcp.NO_DEADLINE) {
      challenge = Echo.of(token, peerToken, --sent).first(); // Queries count upwards.
      ExtensionMessage.write(out, ExtensionMessage.PATH_CHALLENGE, challenge);
      sendAtUs = Kcp.NO_DEADLINE;
      restUntilUs = nowUs + INTERVAL_US;
    }
  }

  /** The peer has responded to a challenge. */
  void responded(long response) {
    if (sent != 0 && response == challenge) {
      kcp.acceptPeerJump();
    }
  }
}
