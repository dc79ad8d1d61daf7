package io.kcp4j.lab;

import io.kcp4j.KcpCounters;
import io.kcp4j.Segment;
import io.kcp4j.fec.FecPacket;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntFunction;

/**
 * A model of a machine that runs kcp-go v5.6.72: sessions in stream mode with kcptun's "fast3"
 * settings, without FEC. It takes the data packets of a peer with FEC and ignores parity. Unlike in
 * kcp-go, sessions of one address are told apart by their conversation ids.
 */
final class KcpGoPeer implements LabPeer {

  private static final int FEC_TYPE_OFFSET = 4;

  private static final int MAX_CLOCK_OFFSET_US = 1_000_000;

  private final VirtualTime time;
  private final int intervalMs;
  private final long clockOffsetUs;
  private final KcpCounters counters = new KcpCounters();
  private final Map<Integer, KcpGoSession> sessions = new LinkedHashMap<>();
  private LabLink out;
  private IntFunction<LabUser> users;

  KcpGoPeer(VirtualTime time, SplittableRandom random, int intervalMs) {
    this.time = time;
    this.intervalMs = intervalMs;
    clockOffsetUs = random.nextInt(MAX_CLOCK_OFFSET_US);
  }

  @Override
  public void connect(LabLink out) {
    this.out = out;
  }

  @Override
  public LabSession open(int conv, LabUser user) {
    KcpGoSession session =
        new KcpGoSession(conv, intervalMs, time, clockOffsetUs, out, user, counters);
    sessions.put(conv, session);
    return session;
  }

  @Override
  public void listen(IntFunction<LabUser> users) {
    this.users = users;
  }

  @Override
  public void received(ByteBuf packet) {
    int type = packet.getUnsignedShortLE(packet.readerIndex() + FEC_TYPE_OFFSET);
    if (type == FecPacket.PARITY) {
      return;
    }
    if (type == FecPacket.DATA) {
      packet.skipBytes(FecPacket.DATA_HEADER_BYTES);
    }
    int conv = Segment.conv(packet, packet.readerIndex());
    KcpGoSession session = sessions.get(conv);
    if (session == null) {
      open(conv, users.apply(conv));
      session = sessions.get(conv);
    }
    session.input(packet);
    session.read();
  }

  @Override
  public KcpCounters counters() {
    return counters;
  }

  @Override
  public void close() {
    sessions.values().forEach(KcpGoSession::close);
  }
}
