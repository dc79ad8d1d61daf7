package io.kcp4j.netty;

import io.kcp4j.KcpContext;
import io.netty.buffer.ByteBuf;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The packets of an endpoint's sessions that other sockets of its port have received. They are
 * copied on the event loops of those sockets, and received on the endpoint's.
 */
final class ForwardedPackets {

  /** The most pending packets; more are dropped, as by a socket whose buffer is full. */
  private static final int MAX_PACKETS = 1024;

  private final KcpEndpoint endpoint;
  private final KcpContext context;
  private final AtomicInteger packets = new AtomicInteger();

  ForwardedPackets(KcpEndpoint endpoint, KcpContext context) {
    this.endpoint = endpoint;
    this.context = context;
  }

  /**
   * Copies a packet, which begins with its nonce, for the endpoint to receive, or drops it. From
   * any event loop.
   */
  void add(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    if (packets.incrementAndGet() > MAX_PACKETS) {
      packets.decrementAndGet();
      return;
    }
    boolean isForwarded = false;
    ByteBuf copy = null;
    try {
      copy = context.allocator().buffer(packet.readableBytes());
      isForwarded = hand(remote, copy.writeBytes(packet), nonceBytes);
    } finally {
      if (!isForwarded) {
        packets.decrementAndGet();
        ReferenceCountUtil.release(copy);
      }
    }
  }

  private boolean hand(InetSocketAddress remote, ByteBuf copy, int nonceBytes) {
    return endpoint.execute(() -> deliver(remote, copy, nonceBytes));
  }

  private void deliver(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    packets.decrementAndGet();
    try {
      if (endpoint.isOpen()) {
        endpoint.receiver().receiveForwarded(remote, packet, nonceBytes);
      }
    } finally {
      packet.release();
    }
  }
}
