package io.kcp4j.jmh;

import io.kcp4j.DatagramOutput;
import io.kcp4j.session.EndReason;
import io.kcp4j.session.Session;
import io.kcp4j.session.SessionTable;
import java.net.InetSocketAddress;

/** Drives a table whose sessions are added by hand, over a socket that takes everything. */
record DiscardingHandler(DatagramOutput output) implements SessionTable.Handler {

  @Override
  public Session accept(InetSocketAddress remote, int conv, long nowMs) {
    throw new IllegalStateException("a stranger: " + remote);
  }

  @Override
  public void progressed(Session session, long nowMs) {}

  @Override
  public void ended(Session session, EndReason reason) {}

  @Override
  public DatagramOutput output(InetSocketAddress remote) {
    return output;
  }

  @Override
  public void flushOutput() {}

  @Override
  public boolean isOutputWritable() {
    return true;
  }

  @Override
  public void requestFlush() {}
}
