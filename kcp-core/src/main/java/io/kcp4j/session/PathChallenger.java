package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/**
 * Challenges the path of a session whose peer may have moved: three times, a probe timeout apart.
 * Anything that proves the peer alive is an answer: protocol.md 13.9.
 */
final class PathChallenger {

  private static final int CHALLENGES = 3;

  private final Kcp kcp;
  private final long challenge;
  private int sent;
  private long challengeAtUs;

  PathChallenger(Kcp kcp, long challenge, long nowUs) {
    this.kcp = kcp;
    this.challenge = challenge;
    challengeAtUs = nowUs;
  }

  /** When the next challenge has to leave, or {@link Kcp#NO_DEADLINE}. */
  long deadlineUs() {
    return challengeAtUs;
  }

  /** The size of the item that {@link #write} writes. */
  int itemBytes(long nowUs) {
    return challengeAtUs <= nowUs ? ExtensionMessage.itemBytes(ExtensionMessage.PATH_CHALLENGE) : 0;
  }

  /** Writes the challenge, if it is due. */
  void write(ByteBuf out, long nowUs) {
    if (challengeAtUs <= nowUs) {
      ExtensionMessage.write(out, ExtensionMessage.PATH_CHALLENGE, challenge);
      sent++;
      challengeAtUs = sent < CHALLENGES ? nowUs + kcp.probeTimeoutUs() : Kcp.NO_DEADLINE;
    }
  }
}
