package io.kcp4j.session;

import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;

/** What a stranger's datagram wants. */
enum FirstDatagram {
  /** Well formed, and with a PUSH of sequence number 0: a session begins. */
  BEGINS,
  /** Well formed, with a window probe and nothing that begins a session. */
  PROBES,
  /** Anything else. */
  OTHER;

  /**
   * Judges a datagram of at least a header's length. A stranger's that acknowledges something is
   * not well formed: a new session has sent nothing and would refuse it.
   */
  static FirstDatagram judge(ByteBuf datagram) {
    int index = datagram.readerIndex();
    int end = datagram.writerIndex();
    int conv = Segment.conv(datagram, index);
    FirstDatagram verdict = OTHER;
    while (end - index >= Segment.HEADER_BYTES) {
      int cmd = Segment.cmd(datagram, index);
      int length = Segment.length(datagram, index);
      if (Segment.conv(datagram, index) != conv
          || !Segment.isCommand(cmd)
          || cmd == Segment.ACK
          || Segment.una(datagram, index) != 0
          || length < 0
          || length > end - index - Segment.HEADER_BYTES) {
        return OTHER;
      }
      if (cmd == Segment.PUSH && Segment.sn(datagram, index) == 0) {
        verdict = BEGINS;
      } else if (cmd == Segment.WASK && verdict == OTHER) {
        verdict = PROBES;
      }
      index += Segment.HEADER_BYTES + length;
    }
    return verdict;
  }
}
