package io.kcp4j.lab;

import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The ground truth about retransmissions: sees each datagram as it is sent, and whether it arrives.
 * A PUSH with the timestamp of an earlier transmission is a deliberate copy of that transmission. A
 * retransmission is spurious if an earlier transmission of the segment, or a copy of it, arrives.
 *
 * <p>What FEC recovers does not count as arrived: that depends on when the receiver could recover
 * it.
 */
final class TransmissionMonitor {

  /** The segments of one conversation, in a ring by sequence number. */
  private static final class Conversation {

    /** More than the largest window of the lab, and a power of two. */
    static final int SIZE = 1 << 13;

    final int[] sns = new int[SIZE];
    final int[] latestTss = new int[SIZE];
    final boolean[] arrived = new boolean[SIZE];

    Conversation() {
      Arrays.fill(sns, -1);
    }
  }

  private final Map<Integer, Conversation> conversations = new HashMap<>();
  private long segments;
  private long retransmissions;
  private long copies;
  private long spurious;
  private long parity;

  /** A packet is sent; its indices stay. */
  void sent(ByteBuf packet, boolean arrives) {
    int index = packet.readerIndex();
    switch (FecPacket.type(packet, index)) {
      case FecPacket.DATA -> segments(packet, index + FecPacket.DATA_HEADER_BYTES, arrives);
      case FecPacket.PARITY -> parity++;
      default -> segments(packet, index, arrives);
    }
  }

  private void segments(ByteBuf packet, int start, boolean arrives) {
    Conversation conversation =
        conversations.computeIfAbsent(Segment.conv(packet, start), conv -> new Conversation());
    for (int at = start;
        at < packet.writerIndex();
        at += Segment.HEADER_BYTES + Segment.length(packet, at)) {
      if (Segment.cmd(packet, at) == Segment.PUSH) {
        push(conversation, Segment.sn(packet, at), Segment.ts(packet, at), arrives);
      }
    }
  }

  private void push(Conversation conversation, int sn, int ts, boolean arrives) {
    int slot = sn & Conversation.SIZE - 1;
    if (conversation.sns[slot] != sn) {
      conversation.sns[slot] = sn;
      conversation.arrived[slot] = false;
      segments++;
    } else if (conversation.latestTss[slot] == ts) {
      copies++;
    } else {
      retransmissions++;
      spurious += conversation.arrived[slot] ? 1 : 0;
    }
    conversation.latestTss[slot] = ts;
    conversation.arrived[slot] |= arrives;
  }

  /** Segments with payload, each counted once. */
  long segments() {
    return segments;
  }

  /** Retransmissions, without copies. */
  long retransmissions() {
    return retransmissions;
  }

  /** Deliberate copies. */
  long copies() {
    return copies;
  }

  /** Retransmissions of segments of which an earlier transmission arrives. */
  long spurious() {
    return spurious;
  }

  /** Parity packets. */
  long parity() {
    return parity;
  }
}
