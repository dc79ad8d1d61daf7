package io.kcp4j.jmh;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.Time;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.PooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/** Brings sessions of one context into the states whose memory is measured. */
final class KcpStates implements AutoCloseable {

  private static final int ECHO_BYTES = 100;

  private final KcpContext context = KcpContext.of(new PooledByteBufAllocator(true));
  private final KcpContext peers = KcpContext.of(KcpBenchmark.ALLOCATOR);
  private final DatagramSlots slots = new DatagramSlots();
  private final List<Kcp> made = new ArrayList<>();

  KcpContext context() {
    return context;
  }

  Kcp fresh() {
    Kcp kcp = new Kcp(KcpBenchmark.CONV, KcpConfig.DEFAULT, context, 0);
    made.add(kcp);
    return kcp;
  }

  Kcp echoed() {
    Kcp kcp = fresh();
    Kcp peer = new Kcp(KcpBenchmark.CONV, KcpConfig.DEFAULT, peers, 0);
    ByteBuf request = KcpBenchmark.ALLOCATOR.directBuffer(ECHO_BYTES).writeZero(ECHO_BYTES);
    send(request, peer, kcp);
    send(kcp.receive(), kcp, peer);
    peer.receive().release();
    peer.flush(0, slots);
    slots.deliverTo(kcp, 0);
    kcp.afterInput(0, slots);
    peer.close();
    KcpBenchmark.check(
        kcp.isDrained() && kcp.nextDeadline() == Time.NO_DEADLINE, "the session is not idle");
    return kcp;
  }

  private void send(ByteBuf data, Kcp from, Kcp to) {
    from.send(data);
    data.release();
    from.flush(0, slots);
    slots.deliverTo(to, 0);
  }

  Kcp sending() {
    Kcp kcp = fresh();
    kcp.reconfigure(
        kcp.config().toBuilder()
            .congestionControl(CongestionControl.NONE)
            .sendWindow(KcpConfig.INITIAL_WINDOW)
            .maxBurst(0)
            .build());
    KcpBenchmark.openRemoteWindow(kcp);
    int window = kcp.config().sendWindow();
    int bytes = window * KcpBenchmark.PAYLOAD_BYTES;
    ByteBuf data = KcpBenchmark.ALLOCATOR.directBuffer(bytes).writeZero(bytes);
    kcp.send(data);
    data.release();
    kcp.flush(0, slots);
    KcpBenchmark.check(kcp.stats().inFlight() == window, "the window is not full");
    return kcp;
  }

  Kcp unread() {
    Kcp kcp = fresh();
    ByteBuf datagram = KcpBenchmark.fullPush();
    for (int sn = 0; sn < KcpConfig.INITIAL_WINDOW; sn++) {
      KcpBenchmark.setSn(datagram, sn);
      kcp.input(datagram, 0);
    }
    datagram.release();
    kcp.flush(0, slots);
    return kcp;
  }

  @Override
  public void close() {
    made.forEach(Kcp::close);
    slots.release();
  }
}
