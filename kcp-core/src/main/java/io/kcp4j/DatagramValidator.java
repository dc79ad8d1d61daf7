package io.kcp4j;

import io.netty.buffer.ByteBuf;

/** Validates a datagram as a whole before any of it has an effect: protocol.md 2.1. */
final class DatagramValidator {

  private DatagramValidator() {}

  /**
   * Validates the bytes between reader and writer index, which are a header at least.
   *
   * @param firstLong the first long of the first header
   * @param thirdLong the third long of the first header
   */
  static InputResult validate(
      Kcp kcp, ByteBuf datagram, long firstLong, long thirdLong, long nowUs) {
    int conv = kcp.conv();
    int sndNext = kcp.sender.buffer.next();
    Timestamps timestamps = kcp.sender.timestamps.isOwnRecognised() ? kcp.sender.timestamps : null;
    int nowTs = timestamps == null ? 0 : timestamps.at(nowUs);
    boolean isUnproven = kcp.isProofAwaited();
    boolean isOfSession = false;
    long first = firstLong;
    long third = thirdLong;
    int end = datagram.writerIndex();
    int index = datagram.readerIndex();
    while (true) {
      if (Segment.conv(first) != conv) {
        return InputResult.WRONG_CONV;
      }
      int cmd = Segment.cmd(first);
      if (!Segment.isCommand(cmd)) {
        return InputResult.UNKNOWN_COMMAND;
      }
      int length = Segment.length(third);
      if (length < 0 || length > end - index - Segment.HEADER_BYTES) {
        return InputResult.MALFORMED;
      }
      if (Segment.una(third) - sndNext > 0
          || (cmd == Segment.ACK && Segment.sn(datagram, index) - sndNext >= 0)) {
        return InputResult.ACKNOWLEDGES_UNSENT;
      }
      if (timestamps != null && timestamps.isOwn(cmd, Segment.ts(datagram, index), nowTs)) {
        return InputResult.REFLECTED;
      }
      if (isUnproven) {
        isOfSession |= Segment.una(third) != 0;
        isUnproven = !isProof(kcp, cmd, datagram, index);
      }
      index += Segment.HEADER_BYTES + length;
      if (end - index < Segment.HEADER_BYTES) {
        return isUnproven && isOfSession ? InputResult.UNPROVEN : InputResult.ACCEPTED;
      }
      first = Segment.first(datagram, index);
      third = Segment.third(datagram, index);
    }
  }

  private static boolean isProof(Kcp kcp, int cmd, ByteBuf datagram, int index) {
    return cmd == Segment.ACK
        && kcp.sender.wasSent(Segment.sn(datagram, index), Segment.ts(datagram, index));
  }
}
