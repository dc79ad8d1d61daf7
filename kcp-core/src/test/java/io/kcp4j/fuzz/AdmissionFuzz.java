package io.kcp4j.fuzz;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.session.TestDriver;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Unknown peers at a table that is under pressure soon: first datagrams with offers, with the
 * tokens of retries or with other ones, probes, queries and acknowledgements, from a few addresses
 * with a few conversations each, while sessions write and close. The limits on sessions hold,
 * validated sessions make no room for others, no address is sent more than the amplification limit
 * allows, and nothing is held in the end.
 */
public final class AdmissionFuzz {

  private static final int MAX_SESSIONS = 4;
  private static final int MAX_UNVALIDATED = 3;
  private static final int CONVS_PER_ADDRESS = 2;
  private static final int ADDRESSES = 6;
  private static final int TOKEN = 42;
  private static final int SESSION_ID = 43;
  private static final int CONVS = 4;

  /** What a session may be sent beyond three bytes for each one received. */
  private static final int BEYOND_LIMIT_BYTES = 8 * 64;

  private static final KcpConfig CONFIG = KcpConfig.builder().mtuBytes(300).build();
  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);
  private static final ResetTokens RESET_TOKENS = new ResetTokens(new byte[16]);
  private static final Peer[] NO_PEERS = {};
  private static final ByteBuf PACKET = Unpooled.buffer(2048, 2048);
  private static final ByteBuf SENT = Unpooled.wrappedBuffer(new byte[4096]);

  /** A remote address. */
  private static final class Peer {
    final InetSocketAddress address;
    long receivedBytes;
    long sentBytes;
    final List<Session> sessions = new ArrayList<>();
    long retryToken;
    long challenge;
    // Of the last PUSH that was sent to it.
    int conv;
    int sn;
    int ts;

    Peer(int number) {
      address = new InetSocketAddress("127.0." + number / 2 + ".1", 4000 + number);
    }
  }

  private final FuzzInput input;
  private final KcpContext context = KcpContext.of(ALLOCATOR);
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver;
  private final SessionTable table;
  private final Peer[] peers;
  private final Map<InetSocketAddress, Peer> peersByAddress = new HashMap<>();
  private final List<Session> sessions = new ArrayList<>();
  private long nowUs;

  /** Whether a challenge has been answered. */
  private boolean hasResponded;

  private AdmissionFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    driver = TestDriver.builder(context).deadlines(deadlines).maxSessions(MAX_SESSIONS).build();
    table = driver.table;
    table.resetTokens(RESET_TOKENS);
    table.unvalidatedLimit(MAX_UNVALIDATED);
    table.convsPerAddress(CONVS_PER_ADDRESS);
    driver.acceptor = this::accept;
    driver.onProgress = this::progressed;
    driver.onEnd = this::ended;
    driver.output = remote -> new CheckedOutput(peersByAddress.get(remote));
    List<Peer> all = new ArrayList<>();
    for (int i = 0; i < ADDRESSES; i++) {
      Peer peer = new Peer(i);
      peersByAddress.put(peer.address, peer);
      all.add(peer);
    }
    peers = all.toArray(NO_PEERS);
  }

  /** One table. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    AdmissionFuzz fuzz = new AdmissionFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
      fuzz.checkLimits();
    }
    List.copyOf(fuzz.sessions).forEach(fuzz::remove);
    fuzz.table.close();
    Check.that(fuzz.table.size() == 0, "a session left");
    Check.that(fuzz.context.budget().usedBytes() == 0, "still charged when all is closed");
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks");
  }

  private void step() {
    int op = input.unsignedByte();
    Peer peer = peers[input.below(ADDRESSES)];
    int conv = 1 + op / 8 % CONVS;
    switch (op & 7) {
      case 0, 1, 2 -> receivePush(peer, conv, (op & 0x80) == 0 ? 0 : input.below(4));
      case 3 -> receiveProbe(peer, conv);
      case 4 -> {
        if ((op & 0x80) == 0) {
          receiveAck(peer);
        } else {
          receiveResponse(peer, conv);
        }
      }
      case 5 -> advance(input.unsignedByte() << (op >> 5));
      case 6 -> write(op);
      default -> end(op >> 3);
    }
  }

  private void receivePush(Peer peer, int conv, int sn) {
    PACKET.clear();
    int bytes = input.below(60);
    Segment.write(PACKET, conv, Segment.PUSH, 0, 128, 0, sn, 0, bytes);
    PACKET.writeZero(bytes);
    int kind = input.below(8);
    if (kind > 2) {
      Segment.write(PACKET, conv, Segment.WINS, 0, 128, 0, 0, 0, 13);
      PACKET.writeByte(0x4b).writeByte(1).writeByte(1).writeShortLE(8);
      PACKET.writeLongLE(kind > 4 ? peer.retryToken : kind);
    }
    receive(peer);
  }

  private void receiveProbe(Peer peer, int conv) {
    PACKET.clear();
    Segment.write(PACKET, conv, Segment.WASK, 0, 128, 0, 0, 0, 0);
    if (input.oneIn(2)) {
      int kind = input.below(64);
      int padding = kind & 15;
      int echoBytes = (kind & 16) == 0 ? 0 : 16;
      int bytes = 17 + echoBytes + 3 + padding;
      Segment.write(PACKET, conv, Segment.WINS, 0, 128, 0, 0, 0, bytes);
      PACKET.writeByte(0x4b).writeByte(1).writeByte(9).writeShortLE(12 + echoBytes);
      PACKET.writeLongLE((kind & 32) == 0 ? 0 : SESSION_ID).writeIntLE(0).writeZero(echoBytes);
      PACKET.writeByte(99).writeShortLE(padding).writeZero(padding);
    }
    receive(peer);
  }

  /** Responds to the last challenge that was sent to the peer. */
  private void receiveResponse(Peer peer, int conv) {
    PACKET.clear();
    Segment.write(PACKET, conv, Segment.WINS, 0, 128, 0, 0, 0, 2 + 11 + 11);
    PACKET.writeByte(0x4b).writeByte(1).writeByte(3).writeShortLE(8).writeLongLE(TOKEN);
    PACKET.writeByte(13).writeShortLE(8).writeLongLE(peer.challenge);
    hasResponded |= peer.challenge != 0;
    receive(peer);
  }

  /** The ACK of the last segment that was sent to the peer, or one that is not quite that. */
  private void receiveAck(Peer peer) {
    PACKET.clear();
    int off = input.oneIn(4) ? input.signedByte() : 0;
    Segment.write(PACKET, peer.conv, Segment.ACK, 0, 128, peer.ts + off, peer.sn, 0, 0);
    receive(peer);
  }

  private void receive(Peer peer) {
    peer.receivedBytes += PACKET.readableBytes();
    table.receive(peer.address, PACKET, nowUs);
    table.endBatch(nowUs);
  }

  private void advance(int ms) {
    nowUs += 1_000L * ms;
    deadlines.advance(nowUs);
    table.flushPending(nowUs);
    table.sweep(nowUs);
    table.flushPending(nowUs);
  }

  private void write(int kind) {
    if (!sessions.isEmpty()) {
      Session session = sessions.get(kind / 8 % sessions.size());
      SENT.setIndex(0, input.unsignedShort() % 2000);
      session.kcp().send(SENT);
      table.scheduleFlush(session);
      table.flushPending(nowUs);
    }
  }

  private void end(int kind) {
    if (sessions.isEmpty()) {
      return;
    }
    Session session = sessions.get(kind / 2 % sessions.size());
    if ((kind & 1) == 0) {
      remove(session);
    } else {
      sessions.remove(session);
      table.closeGracefully(session, nowUs);
      table.flushPending(nowUs);
    }
  }

  private void remove(Session session) {
    sessions.remove(session);
    table.remove(session, nowUs);
    session.close();
  }

  private Session accept(InetSocketAddress remote, int conv) {
    if (input.oneIn(16)) {
      return null;
    }
    Session session = driver.newSession(remote, new Kcp(conv, CONFIG, context, 0x7000_0000));
    session.answerExtension(TOKEN, SESSION_ID);
    sessions.add(session);
    peersByAddress.get(remote).sessions.add(session);
    return session;
  }

  private void progressed(Session session) {
    for (ByteBuf data; (data = session.kcp().receive()) != null; data.release()) {
      Check.that(data.refCnt() == 1, "of several owners");
    }
  }

  private void ended(Session session, EndReason reason) {
    boolean isValidated = session.path().isValidated();
    Check.that(sessions.remove(session), "ended twice");
    Check.that(reason != EndReason.PEER_MOVED || hasResponded, "moved without a response");
    Check.that(reason != EndReason.EVICTED || !isValidated, "a validated session was evicted");
    Check.that(reason != EndReason.SUPERSEDED || isValidated, "one was replaced too early");
  }

  private void checkLimits() {
    Check.that(table.size() <= MAX_SESSIONS, "too many sessions");
    long unvalidated = sessions.stream().filter(s -> !s.path().isValidated()).count();
    Check.that(unvalidated <= MAX_UNVALIDATED, "too many unvalidated sessions");
    for (Peer peer : peers) {
      long ofPeer =
          sessions.stream()
              .filter(s -> s.remote().equals(peer.address) && s.path().isValidated())
              .count();
      Check.that(ofPeer <= CONVS_PER_ADDRESS, "too many sessions of an address");
      boolean isValidated = peer.sessions.stream().anyMatch(s -> s.path().isValidated());
      long allowedBytes = 3 * peer.receivedBytes + (long) BEYOND_LIMIT_BYTES * peer.sessions.size();
      Check.that(isValidated || peer.sentBytes <= allowedBytes, "amplification");
    }
  }

  /** Counts what is sent, and remembers the last PUSH, retry and challenge. */
  private static final class CheckedOutput implements DatagramOutput {

    private final ByteBuf datagram = Unpooled.buffer(2048);
    private final Peer peer;

    CheckedOutput(Peer peer) {
      this.peer = peer;
    }

    @Override
    public ByteBuf begin(int maxBytes) {
      return datagram.clear();
    }

    @Override
    public void end() {
      int index = 0;
      while (index < datagram.writerIndex()) {
        int cmd = Segment.cmd(datagram, index);
        int bytes = Segment.HEADER_BYTES + Segment.length(datagram, index);
        if (cmd == Segment.PUSH) {
          peer.conv = Segment.conv(datagram, index);
          peer.sn = Segment.sn(datagram, index);
          peer.ts = Segment.ts(datagram, index);
        }
        boolean isRetry = bytes == Segment.HEADER_BYTES + 24;
        if (isRetry && datagram.getByte(index + Segment.HEADER_BYTES + 13) == 11) {
          peer.retryToken = datagram.getLongLE(index + bytes - Long.BYTES);
        }
        boolean isChallenge = isRetry || bytes == Segment.HEADER_BYTES + 40;
        if (isChallenge && datagram.getByte(index + Segment.HEADER_BYTES + 13) == 12) {
          peer.challenge = datagram.getLongLE(index + Segment.HEADER_BYTES + 16);
        }
        peer.sentBytes += cmd == Segment.WASK ? 0 : bytes; // Probes may exceed the limit.
        index += bytes;
      }
    }
  }
}
