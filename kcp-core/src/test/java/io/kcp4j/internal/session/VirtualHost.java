package io.kcp4j.internal.session;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.util.NetUtil;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;

/**
 * A host with one session in virtual time, without cipher and FEC unless the test sets them. Its
 * packets wait until the test passes them on, changes or drops them.
 */
public final class VirtualHost {

  public static final int CONV = 7;

  static final int MAX_SESSIONS = 10;

  /** The settings of sessions that begin from now on. */
  public KcpConfig config = KcpConfig.builder().build();

  /** The FEC of sessions that begin from now on. */
  FecConfig fec = FecConfig.NONE;

  /** The token of the extension; 0 for a host without it. */
  public long token;

  /** The settings of the lanes of sessions whose delivery is that. */
  LanesConfig lanes = LanesConfig.DEFAULT;

  /** The first timestamp of sessions that begin from now on. */
  int tsOrigin;

  /** How sessions have ended. */
  public final List<EndReason> ends = new ArrayList<>();

  /** The session that was opened or accepted last. */
  public Session session;

  public long nowUs = 1_000_000;

  /** So many datagrams from now on find no memory. */
  int failingOutputs;

  /** The bytes of payload that were received. */
  public int received;

  /** What the session had no room for. */
  private final ByteBuf unsent = Unpooled.buffer();

  public final TestDriver driver;
  private final InetSocketAddress address;
  private final KcpContext context;
  private final TimerWheel deadlines = new TimerWheel(0);
  private final List<Sent> sent = new ArrayList<>();
  private final PacketCipher cipher;

  private record Sent(InetSocketAddress to, ByteBuf packet) {}

  public VirtualHost(int port) {
    this(port, KeyRing.NONE);
  }

  public VirtualHost(int port, KeyRing keys) {
    this(port, keys, MemoryBudget.unlimited());
  }

  public VirtualHost(int port, KeyRing keys, MemoryBudget budget) {
    this(port, keys, budget, SessionDirectory.ofOne(MAX_SESSIONS));
  }

  /** One socket of a server that has several. */
  public VirtualHost(int port, KeyRing keys, SessionDirectory directory) {
    this(port, keys, MemoryBudget.unlimited(), directory);
  }

  public VirtualHost(int port, KeyRing keys, MemoryBudget budget, SessionDirectory directory) {
    context = new KcpContext(new UnpooledByteBufAllocator(true, true), budget, new KcpCounters());
    address = new InetSocketAddress(NetUtil.LOCALHOST, port);
    tsOrigin = 0x7654_0000 + port;
    cipher = keys.newCipher();
    driver =
        TestDriver.builder(context)
            .cipher(cipher)
            .deadlines(deadlines)
            .nowUs(nowUs)
            .directory(directory)
            .build();
    driver.output = Output::new;
    driver.onProgress = this::read;
    driver.onEnd = (ended, reason) -> ends.add(reason);
    driver.acceptor =
        (remote, conv) -> {
          newSession(remote, conv);
          if (config.delivery() == Delivery.LANES) {
            driver.table.answerLanes(session, lanes, token, ~token);
          } else if (token != 0) {
            session.answerExtension(token, ~token);
          }
          return session;
        };
  }

  private void newSession(InetSocketAddress remote, int conv) {
    Kcp kcp = new Kcp(conv, config, context, tsOrigin);
    kcp.timestampsAreRandom();
    session = driver.newSession(remote, kcp);
    session.reconfigure(config, fec);
  }

  /** Begins a session. */
  public void open(VirtualHost peer) {
    newSession(peer.address, CONV);
    if (config.delivery() == Delivery.LANES) {
      driver.table.offerLanes(session, lanes, token);
    } else if (token != 0) {
      session.offerExtension(token);
    }
    driver.table.add(session, nowUs);
  }

  /** Writes so many bytes, now and whenever something has been received, and flushes. */
  public void write(int bytes) {
    queue(bytes);
    flush();
  }

  /** Writes so many bytes, now and whenever something has been received. */
  void queue(int bytes) {
    unsent.writeZero(bytes);
    sendUnsent();
  }

  private void sendUnsent() {
    session.kcp().send(unsent);
    driver.table.scheduleFlush(session);
  }

  /** Flushes the session. */
  public void flush() {
    driver.table.scheduleFlush(session);
    driver.table.flushPending(nowUs);
  }

  /** Ends the session, and flushes it. */
  public boolean finish() {
    boolean stays = driver.table.closeGracefully(session, nowUs);
    driver.table.flushPending(nowUs);
    return stays;
  }

  /** Aborts the session, and flushes it. */
  public boolean abort(int code) {
    boolean stays = driver.table.abort(session, code, nowUs);
    driver.table.flushPending(nowUs);
    return stays;
  }

  /** Lets time pass, and flushes at every deadline. */
  public void runTo(long untilUs) {
    while (nowUs < untilUs) {
      nowUs = Math.min(untilUs, nowUs + 1_000);
      deadlines.advance(nowUs);
      driver.table.flushPending(nowUs);
      if (nowUs % 1_000_000 == 0) {
        driver.table.sweep(nowUs);
        driver.table.flushPending(nowUs);
      }
    }
  }

  /** Returns the packets since the last call. */
  public List<ByteBuf> packets() {
    if (sent.isEmpty()) {
      return List.of();
    }
    List<ByteBuf> packets = sent.stream().map(Sent::packet).toList();
    sent.clear();
    return packets;
  }

  /** Returns those of them to this host, and leaves the others. */
  public List<ByteBuf> packetsTo(VirtualHost host) {
    List<ByteBuf> packets =
        sent.stream().filter(s -> s.to.equals(host.address)).map(Sent::packet).toList();
    sent.removeIf(s -> s.to.equals(host.address));
    return packets;
  }

  /** Reads and counts what the session has received. */
  public void read(Session session) {
    for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
      received += part.readableBytes();
    }
    if (unsent.isReadable()) {
      sendUnsent();
    }
  }

  /** Takes packets in, as one batch. */
  public void take(VirtualHost from, List<ByteBuf> batch) {
    batch.forEach(packet -> driver.table.receive(from.address, packet.copy(), nowUs));
    driver.table.endBatch(nowUs);
  }

  InetSocketAddress address() {
    return address;
  }

  KcpContext context() {
    return context;
  }

  public long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  /** The message that ends a packet, or an empty buffer. */
  public static ByteBuf message(ByteBuf packet) {
    int index = packet.readerIndex();
    int last = index;
    while (index < packet.writerIndex()) {
      last = index;
      index += Segment.HEADER_BYTES + Segment.length(packet, index);
    }
    return Segment.cmd(packet, last) == Segment.WINS
        ? packet.slice(last + Segment.HEADER_BYTES, Segment.length(packet, last))
        : Unpooled.EMPTY_BUFFER;
  }

  private final class Output implements DatagramOutput {

    private final InetSocketAddress to;
    private ByteBuf packet;

    Output(InetSocketAddress to) {
      this.to = to;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      if (failingOutputs > 0) {
        failingOutputs--;
        throw new OutOfMemoryError("simulated");
      }
      packet = Unpooled.buffer(maxBytes, maxBytes);
      return packet;
    }

    @Override
    public void end() {
      if (!cipher.isUnencrypted()) {
        PacketBatch batch = new PacketBatch().reset(packet);
        batch.add(0, packet.writerIndex());
        cipher.seal(batch);
      }
      sent.add(new Sent(to, packet));
    }
  }
}
