package io.kcp4j.session;

import io.kcp4j.DatagramOutput;
import io.kcp4j.Kcp;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpContext;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The driver of a {@link SessionTable} in a test: notes what it is told, and what is sent. */
class FakeHandler implements SessionTable.Handler {

  final KcpContext context;
  SessionTable table;
  final List<String> events = new ArrayList<>();
  final List<Session> accepted = new ArrayList<>();
  KcpConfig config = KcpConfig.DEFAULT;
  Consumer<Session> onProgress = session -> {};
  Consumer<Session> onEnd = session -> {};
  Runnable onOutput = () -> {};
  Runnable onAccept = () -> {};
  BiConsumer<InetSocketAddress, ByteBuf> onPassedOn = (remote, packet) -> {};
  boolean accepts = true;
  boolean postpones;
  boolean writable = true;
  int flushRequests;
  int outputFlushes;

  FakeHandler(KcpContext context) {
    this.context = context;
  }

  Session session(InetSocketAddress remote, int conv) {
    return table.newSession(remote, new Kcp(conv, config, context, 0), null);
  }

  @Override
  public Session accept(InetSocketAddress remote, int conv, long nowMs) {
    onAccept.run();
    if (!accepts || (postpones && table.deferAccept(remote, conv))) {
      return null;
    }
    Session session = session(remote, conv);
    accepted.add(session);
    return session;
  }

  @Override
  public void progressed(Session session, long nowMs) {
    events.add("progressed " + session.conv());
    onProgress.accept(session);
  }

  @Override
  public void ended(Session session, EndReason reason) {
    events.add("ended " + session.conv() + " " + reason);
    onEnd.accept(session);
    session.close();
  }

  @Override
  public DatagramOutput output(InetSocketAddress remote) {
    onOutput.run();
    return new DatagramOutput() {
      private ByteBuf datagram;

      @Override
      public ByteBuf begin(int maxBytes) {
        datagram = Unpooled.buffer(maxBytes, maxBytes);
        return datagram;
      }

      @Override
      public void end() {
        int cmd = Segment.cmd(datagram, 0);
        events.add("sent " + Segment.conv(datagram, 0) + " " + NAMES[cmd - Segment.PUSH]);
      }
    };
  }

  private static final String[] NAMES = {"PUSH", "ACK", "WASK", "WINS"};

  @Override
  public void flushOutput() {
    outputFlushes++;
  }

  @Override
  public boolean isOutputWritable() {
    return writable;
  }

  @Override
  public void forward(InetSocketAddress remote, ByteBuf packet) {
    events.add("passed on");
    onPassedOn.accept(remote, packet);
  }

  @Override
  public void requestFlush() {
    flushRequests++;
  }

  /** What happened since this was last asked. */
  List<String> events() {
    List<String> happened = List.copyOf(events);
    events.clear();
    return happened;
  }
}
