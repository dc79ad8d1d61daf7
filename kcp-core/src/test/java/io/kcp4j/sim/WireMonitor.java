package io.kcp4j.sim;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.HashSet;
import java.util.Set;

/**
 * Follows what one side sends and receives, and checks each of its datagrams: whole segments in the
 * right order, sequence numbers without gaps, nothing beyond the windows, no retransmission of what
 * was acknowledged, no datagram beyond the MTU.
 */
final class WireMonitor {

  private final int conv;
  private final int firstSn;
  private final int tsOrigin;
  private final FaultCounts faults;
  private KcpConfig config;
  private int largestMss;

  private int nextSn;
  private int unaOut;
  private int unaIn;
  private int unaForged;
  private int rightEdge;
  private int shownWindow;
  private final Set<Integer> acknowledged = new HashSet<>();
  private long segments;
  private long datagrams;
  private long bytes;
  private long retransmitted;
  private int possiblyRetransmitted;
  private long acks;
  private long lastAckAtUs = Long.MIN_VALUE;
  private long lastPushInAtUs = Long.MIN_VALUE / 2;
  private long lastNewOutAtUs = Long.MIN_VALUE / 2;

  WireMonitor(
      int conv,
      int firstSn,
      int tsOrigin,
      int initialRemoteWindow,
      KcpConfig config,
      FaultCounts faults) {
    this.conv = conv;
    this.firstSn = firstSn;
    this.tsOrigin = tsOrigin;
    this.faults = faults;
    nextSn = firstSn;
    unaOut = firstSn;
    unaIn = firstSn;
    unaForged = firstSn;
    rightEdge = firstSn + initialRemoteWindow;
    reconfigure(config);
  }

  void reconfigure(KcpConfig config) {
    this.config = config;
    largestMss = Math.max(largestMss, config.mssBytes());
  }

  /** The sequence number of the next new segment. */
  int nextSn() {
    return nextSn;
  }

  /** The newest una that was sent. */
  int unaOut() {
    return unaOut;
  }

  /** The newest una that was taken in. */
  int unaIn() {
    return unaIn;
  }

  /** How many new segments were sent. */
  int newSegments() {
    return nextSn - firstSn;
  }

  long segments() {
    return segments;
  }

  long datagrams() {
    return datagrams;
  }

  long bytes() {
    return bytes;
  }

  /** PUSHes that were challenges, or retransmissions of empty messages. */
  int possiblyRetransmitted() {
    return possiblyRetransmitted;
  }

  long retransmitted() {
    return retransmitted;
  }

  long acks() {
    return acks;
  }

  /** When the last ACK was sent. */
  long lastAckAtUs() {
    return lastAckAtUs;
  }

  /** When the last PUSH was taken in. */
  long lastPushInAtUs() {
    return lastPushInAtUs;
  }

  /** When the last new segment was sent. */
  long lastNewOutAtUs() {
    return lastNewOutAtUs;
  }

  /** Notes a genuine datagram that the side receives; returns how many PUSHes it has. */
  int takenIn(ByteBuf datagram, long nowUs) {
    int pushes = 0;
    int at = datagram.readerIndex();
    while (datagram.writerIndex() - at >= Segment.HEADER_BYTES) {
      int una = Segment.una(datagram, at);
      if (una - unaIn > 0) {
        unaIn = una;
      }
      if (una - unaIn >= 0) {
        windowShown(una, Segment.wnd(datagram, at));
      }
      if (Segment.cmd(datagram, at) == Segment.ACK) {
        acknowledged.add(Segment.sn(datagram, at));
      }
      if (Segment.cmd(datagram, at) == Segment.PUSH) {
        pushes++;
        lastPushInAtUs = nowUs;
      }
      at += Segment.HEADER_BYTES + Segment.length(datagram, at);
    }
    passAcknowledged();
    return pushes;
  }

  /**
   * A peer that has no memory to put segments in order has acknowledged them one by one, and sends
   * no una beyond them. The window counts from the first that is not acknowledged.
   */
  private void passAcknowledged() {
    int una = unaForged - unaIn > 0 ? unaForged : unaIn;
    int before = una;
    while (acknowledged.remove(una)) {
      una++;
    }
    if (una != before) {
      unaForged = una;
      windowShown(una, shownWindow);
    }
    acknowledged.removeIf(sn -> sn - unaIn < 0);
  }

  /**
   * Notes that a forged ACK was ahead of the peer's: everything below {@code una} was received. The
   * window counts from there.
   */
  void takenInForgedAck(int una, int window) {
    if (una - unaForged > 0) {
      unaForged = una;
    }
    windowShown(una, window);
  }

  private void windowShown(int una, int window) {
    shownWindow = window;
    int edge = (unaForged - una > 0 ? unaForged : una) + window;
    if (edge - rightEdge > 0) {
      rightEdge = edge;
    }
  }

  /** Checks a datagram that the side sends: the bytes from {@code start} on. */
  void sent(ByteBuf datagram, int start, long nowUs) {
    datagrams++;
    bytes += datagram.writerIndex() - start;
    int at = start;
    int lastCmd = Segment.ACK;
    int inThisDatagram = 0;
    while (at < datagram.writerIndex()) {
      Check.that(datagram.writerIndex() - at >= Segment.HEADER_BYTES, "sent a header cut short");
      int cmd = Segment.cmd(datagram, at);
      int length = Segment.length(datagram, at);
      Check.that(Segment.conv(datagram, at) == conv, "sent a wrong conv");
      Check.that(Segment.isCommand(cmd), "sent an unknown command");
      Check.that(
          order(cmd) >= order(lastCmd), "sent segments not in the order ACK, WASK, WINS, PUSH");
      Check.that(
          length >= 0 && length <= datagram.writerIndex() - at - Segment.HEADER_BYTES,
          "sent a payload cut short");
      Check.that(length == 0 || cmd == Segment.PUSH, "sent payload without a PUSH");
      sentSegment(datagram, at, cmd, length, nowUs);
      lastCmd = cmd;
      inThisDatagram++;
      at += Segment.HEADER_BYTES + length;
    }
    Check.that(inThisDatagram > 0, "sent an empty datagram");
    segments += inThisDatagram;
    int size = at - start;
    Check.that(
        size <= config.mtuBytes()
            || (inThisDatagram == 1 && size <= largestMss + Segment.HEADER_BYTES),
        () -> "sent a datagram of " + size + " bytes with an MTU of " + config.mtuBytes());
  }

  private void sentSegment(ByteBuf datagram, int at, int cmd, int length, long nowUs) {
    int una = Segment.una(datagram, at);
    Check.that(una - unaOut >= 0, "sent una going back");
    unaOut = una;
    int window = Segment.wnd(datagram, at);
    Check.that(window <= config.receiveWindow(), "sent a window larger than configured");
    if (window == 0) {
      faults.add(Fault.WINDOW_CLOSED);
    }
    if (cmd == Segment.ACK) {
      acks++;
      lastAckAtUs = nowUs;
    } else if (cmd == Segment.PUSH) {
      sentPush(datagram, at, length, nowUs);
    }
  }

  private void sentPush(ByteBuf datagram, int at, int length, long nowUs) {
    int sn = Segment.sn(datagram, at);
    boolean isMessage = config.delivery() == Delivery.MESSAGE;
    if (length == 0 && (sn - unaIn < 0 || sn - unaForged < 0)) {
      // A challenge; or an empty message that is sent again, if una is not known exactly here.
      possiblyRetransmitted += isMessage && sn - unaIn >= 0 ? 1 : 0;
      return;
    }
    Check.that(
        Segment.ts(datagram, at) == tsOrigin + (int) (nowUs / VirtualTime.US_PER_MS),
        "sent a timestamp that is not now");
    Check.that(
        isMessage || (Segment.frg(datagram, at) == 0 && length > 0),
        "sent a fragment or an empty segment in stream mode");
    if (sn == nextSn) {
      Check.that(
          sn - rightEdge < 0,
          () -> "sent sn " + sn + " beyond the peer's window, which ends at " + rightEdge);
      // The queue is re-segmented when the MTU shrinks, except the fragments of a message.
      int largest = config.delivery() == Delivery.STREAM ? config.mssBytes() : largestMss;
      Check.that(length <= largest, "sent a segment larger than the MTU allows");
      nextSn++;
      lastNewOutAtUs = nowUs;
    } else {
      Check.that(sn - nextSn < 0, () -> "sent sn " + sn + " while " + nextSn + " is next");
      Check.that(sn - unaIn >= 0, () -> "sent sn " + sn + " sent again, una was " + unaIn);
      retransmitted++;
    }
  }

  private static int order(int cmd) {
    return cmd == Segment.PUSH ? Integer.MAX_VALUE : cmd;
  }

  /** One line for a datagram: its segments' headers. */
  static String describe(ByteBuf datagram, int start) {
    StringBuilder text = new StringBuilder();
    int at = start;
    while (datagram.writerIndex() - at >= Segment.HEADER_BYTES) {
      String name =
          switch (Segment.cmd(datagram, at)) {
            case Segment.PUSH -> "PUSH";
            case Segment.ACK -> "ACK";
            case Segment.WASK -> "WASK";
            case Segment.WINS -> "WINS";
            default -> "?";
          };
      int length = Segment.length(datagram, at);
      text.append(' ').append(name);
      text.append(" sn=").append(Integer.toUnsignedString(Segment.sn(datagram, at)));
      text.append(" ts=").append(Integer.toUnsignedString(Segment.ts(datagram, at)));
      text.append(" una=").append(Integer.toUnsignedString(Segment.una(datagram, at)));
      text.append(" wnd=").append(Segment.wnd(datagram, at));
      if (Segment.cmd(datagram, at) == Segment.PUSH) {
        text.append(" frg=").append(Segment.frg(datagram, at)).append(" len=").append(length);
      }
      text.append(';');
      if (length < 0 || length > datagram.writerIndex() - at - Segment.HEADER_BYTES) {
        break;
      }
      at += Segment.HEADER_BYTES + length;
    }
    return text.toString();
  }
}
