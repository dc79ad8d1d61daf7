package io.kcp4j;

import io.netty.buffer.ByteBuf;

/** Validates a datagram as a whole before any of it has an effect: protocol.md 2.1. */
final class DatagramValidator {

  private DatagramValidator() {}

  /**
   * Validates the bytes between reader and writer index.
   *
   * @param conv the conversation id of the session
   * @param sndNext the sequence number below which everything has been sent
   */
  static InputResult validate(ByteBuf datagram, int conv, int sndNext) {
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    if (end - index < Segment.HEADER_BYTES) {
      return InputResult.MALFORMED;
    }
    do {
      long first = Segment.first(datagram, index);
      if (Segment.conv(first) != conv) {
        return InputResult.WRONG_CONV;
      }
      int cmd = Segment.cmd(first);
      if (!Segment.isCommand(cmd)) {
        return InputResult.UNKNOWN_COMMAND;
      }
      long third = Segment.third(datagram, index);
      int length = Segment.length(third);
      if (length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return InputResult.MALFORMED;
      }
      if (Segment.una(third) - sndNext > 0
          || (cmd == Segment.ACK && Segment.sn(datagram, index) - sndNext >= 0)) {
        return InputResult.ACKNOWLEDGES_UNSENT;
      }
      index += Segment.HEADER_BYTES + length;
    } while (end - index >= Segment.HEADER_BYTES);
    return InputResult.ACCEPTED;
  }
}
