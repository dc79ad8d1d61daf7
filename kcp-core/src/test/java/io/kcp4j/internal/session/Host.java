package io.kcp4j.internal.session;

import io.kcp4j.CongestionControl;
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
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A {@link SessionTable} with all layers. Its sealed packets wait until the test passes them to
 * another host.
 */
public final class Host {

  public final InetSocketAddress address;
  public final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  final MemoryBudget budget = MemoryBudget.unlimited();
  final KcpContext context = new KcpContext(allocator, budget, new KcpCounters());
  public final TestDriver driver;
  public final SessionTable table;
  public final Map<Integer, Session> sessions = new HashMap<>();

  /** The settings of sessions: not paced, since no time passes. */
  KcpConfig config = KcpConfig.builder().congestionControl(CongestionControl.NONE).build();

  public FecConfig fec = FecConfig.NONE;

  /** How many packets were sent without a copy, from buffers of their session. */
  public int readyPackets;

  public int unreliableLimit;

  /** When batches are taken in. */
  long nowUs;

  /** Whether the paths of accepted sessions are validated, so that they have no limit. */
  public boolean trustsPeers = true;

  /** The counters of refused datagrams of peers with other settings, and the addresses. */
  final List<String> mismatches = new ArrayList<>();

  private PacketCipher cipher;
  private final List<ByteBuf> packets = new ArrayList<>();

  public Host(int port, KeyRing keys) {
    address = InetSocketAddress.createUnresolved("host", port);
    cipher = keys.newCipher();
    driver = TestDriver.builder(context).cipher(cipher).maxSessions(10).build();
    driver.acceptor = this::session;
    driver.output = remote -> new SealingOutput();
    driver.onMismatch = (counter, remote) -> mismatches.add(counter + " host:" + remote.getPort());
    table = driver.table;
  }

  /** Changes the keys. */
  void keys(KeyRing keys) {
    cipher = keys.newCipher();
    table.cipher(cipher);
  }

  public Session open(InetSocketAddress remote, int conv) {
    Session session = session(remote, conv);
    table.add(session, 0);
    return session;
  }

  private Session session(InetSocketAddress remote, int conv) {
    Session session = driver.newSession(remote, new Kcp(conv, config, context, 0));
    session.reconfigure(config, fec);
    TestDriver.configure(session, config -> config.datagramQueue(unreliableLimit));
    if (trustsPeers) {
      session.validatePath();
    }
    sessions.put(conv, session);
    return session;
  }

  /** Sends a number of bytes whose values follow from their positions. */
  public void send(Session session, int bytes) {
    ByteBuf data = Unpooled.buffer(bytes);
    for (int i = 0; i < bytes; i++) {
      data.writeByte(i * 31 + i / 256);
    }
    session.kcp().send(data);
    table.scheduleFlush(session);
    table.flushPending(0);
  }

  /** Returns the sealed packets and removes them. */
  public List<ByteBuf> packets() {
    List<ByteBuf> sent = List.copyOf(packets);
    packets.clear();
    return sent;
  }

  /** Takes a batch in; the packets stay as they are. */
  public void take(Host from, List<ByteBuf> batch) {
    batch.forEach(packet -> table.receive(from.address, packet.copy(), nowUs));
    table.endBatch(nowUs);
  }

  /** All that a session has received. */
  public static ByteBuf received(Session session) {
    ByteBuf all = Unpooled.buffer();
    for (ByteBuf part; (part = session.kcp().receive()) != null; part.release()) {
      all.writeBytes(part);
    }
    return all;
  }

  long count(KcpCounter counter) {
    return context.total().get(counter);
  }

  /** Closes every session, and checks that no memory is held. */
  public void close() {
    sessions.values().forEach(Session::close);
    table.close();
    if (budget.usedBytes() != 0 || allocator.metric().usedDirectMemory() != 0) {
      throw new AssertionError("left: " + budget.usedBytes() + ", " + allocator.metric());
    }
  }

  private final class SealingOutput implements DatagramOutput {

    private ByteBuf packet;

    @Override
    public ByteBuf begin(int maxBytes) {
      packet = Unpooled.buffer(maxBytes, maxBytes);
      return packet;
    }

    @Override
    public void end() {
      PacketBatch batch = new PacketBatch().reset(packet);
      batch.add(0, packet.writerIndex());
      cipher.seal(batch);
      packets.add(packet);
    }

    @Override
    public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
      readyPackets += (bytes - 1) / datagramBytes + 1;
      DatagramOutput.super.send(data, index, bytes, datagramBytes);
    }
  }
}
