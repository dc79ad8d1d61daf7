package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.netty.buffer.ByteBuf;

/** Answers the path challenges of the peer, of several the last: protocol.md 13.7.2. */
final class PathResponder {

  private long challenge;

  /** When the response has to leave. */
  private long respondAtUs = Kcp.NO_DEADLINE;

  /** A challenge has come. */
  void received(long challenge, long nowUs) {
    this.challenge = challenge;
    respondAtUs = nowUs;
  }

  /** When a response has to leave, or {@link Kcp#NO_DEADLINE}. */
  long deadlineUs() {
    return respondAtUs;
  }

  /** The size of the item that {@link #write} writes. */
  int itemBytes() {
    return respondAtUs == Kcp.NO_DEADLINE
        ? 0
        : ExtensionMessage.itemBytes(ExtensionMessage.PATH_RESPONSE);
  }

  /** Writes the response, if there is one. */
  void write(ByteBuf out) {
    if (respondAtUs != Kcp.NO_DEADLINE) {
      ExtensionMessage.write(out, ExtensionMessage.PATH_RESPONSE, challenge);
      respondAtUs = Kcp.NO_DEADLINE;
    }
  }
}
