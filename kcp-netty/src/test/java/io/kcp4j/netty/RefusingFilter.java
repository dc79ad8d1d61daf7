package io.kcp4j.netty;

import io.kcp4j.CloseReason;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Refuses every peer, tells it a reason, and records its address. */
final class RefusingFilter implements AcceptFilter {

  final List<InetSocketAddress> refused = new CopyOnWriteArrayList<>();

  private final CloseReason reason;

  RefusingFilter(CloseReason reason) {
    this.reason = reason;
  }

  @Override
  public boolean accepts(InetSocketAddress remote, int conv) {
    return false;
  }

  @Override
  public CloseReason refusal(InetSocketAddress remote, int conv) {
    refused.add(remote);
    return reason;
  }
}
