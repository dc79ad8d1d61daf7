package io.kcp4j.lab;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.fec.KcpGoFecDecoder;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.IntFunction;

/**
 * A model of a machine that runs kcp-go v5.6.72: sessions in stream mode with kcptun's "fast3"
 * settings, without FEC of its own. A peer that encodes has one session only; sessions without FEC
 * are told apart by their conversation ids, which kcp-go does by address alone.
 */
final class KcpGoPeer implements LabPeer {

  private static final int MAX_CLOCK_OFFSET_US = 1_000_000;

  private final VirtualTime time;
  private final int intervalMs;
  private final int windowSegments;
  private final long clockOffsetUs;
  private final KcpCounters counters = new KcpCounters();
  private final Map<Integer, KcpGoSession> sessions = new LinkedHashMap<>();
  private final KcpGoFecDecoder decoder;
  private LabLink out;
  private IntFunction<LabUser> users;

  /**
   * Makes a machine.
   *
   * @param decoder what recovers packets, with the ratio for which kcp-go is configured
   */
  KcpGoPeer(VirtualTime time, SplittableRandom random, int intervalMs, KcpGoFecDecoder decoder) {
    this(time, random, intervalMs, KcpGoSession.WINDOW, decoder);
  }

  /** Makes a machine with windows of so many segments, a power of two. */
  KcpGoPeer(
      VirtualTime time,
      SplittableRandom random,
      int intervalMs,
      int windowSegments,
      KcpGoFecDecoder decoder) {
    this.time = time;
    this.intervalMs = intervalMs;
    this.windowSegments = windowSegments;
    this.decoder = decoder;
    clockOffsetUs = random.nextInt(MAX_CLOCK_OFFSET_US);
  }

  /** A machine that is not configured to use FEC, but decodes it nevertheless. */
  static KcpGoPeer unconfigured(VirtualTime time, SplittableRandom random, int intervalMs) {
    return new KcpGoPeer(time, random, intervalMs, new KcpGoFecDecoder(1, 1));
  }

  @Override
  public void connect(LabLink out) {
    this.out = out;
  }

  @Override
  public LabSession open(int conv, LabUser user) {
    KcpGoSession session =
        new KcpGoSession(
            conv, intervalMs, windowSegments, time, clockOffsetUs, out, user, counters);
    sessions.put(conv, session);
    return session;
  }

  @Override
  public void listen(IntFunction<LabUser> users) {
    this.users = users;
  }

  @Override
  public void received(ByteBuf packet) {
    int index = packet.readerIndex();
    int type = FecPacket.type(packet, index);
    if (type == FecPacket.PARITY) {
      decode(packet);
    } else if (type == FecPacket.DATA) {
      int bytes = packet.readableBytes() - FecPacket.DATA_HEADER_BYTES;
      input(packet.slice(index + FecPacket.DATA_HEADER_BYTES, bytes));
      decode(packet);
    } else {
      input(packet);
    }
    sessions.values().forEach(KcpGoSession::read);
  }

  private void input(ByteBuf datagram) {
    int conv = Segment.conv(datagram, datagram.readerIndex());
    if (!sessions.containsKey(conv)) {
      open(conv, users.apply(conv));
    }
    sessions.get(conv).input(datagram, Origin.NETWORK);
  }

  private void decode(ByteBuf packet) {
    for (byte[] datagram : decoder.input(packet)) {
      counters.add(KcpCounter.FEC_RECOVERED, 1);
      ByteBuf recovered = Unpooled.wrappedBuffer(datagram);
      boolean hasConv = datagram.length >= Integer.BYTES;
      KcpGoSession session = hasConv ? sessions.get(Segment.conv(recovered, 0)) : null;
      if (session == null) {
        counters.add(KcpCounter.WRONG_CONV, 1);
      } else {
        session.input(recovered, Origin.RECOVERED);
      }
    }
  }

  /** When a segment that is in flight now is sent again at the latest, from its last time on. */
  long longestTimeoutUs() {
    int longestMs =
        sessions.values().stream().mapToInt(KcpGoSession::longestTimeoutMs).max().orElse(0);
    return (longestMs + intervalMs) * 1_000L;
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
