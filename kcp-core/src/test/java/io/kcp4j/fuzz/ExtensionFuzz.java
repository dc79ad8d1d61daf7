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
import java.net.InetAddress;
import java.net.InetSocketAddress;

/**
 * Gives a session arbitrary messages of the extension, with right and wrong tokens, as a client or
 * as a server, while it writes, waits and ends in each way. A session ends by what its peer says
 * only if the peer has shown its token, messages are the last segment of their datagram, a server
 * sends none before it was offered the extension, and nothing is held in the end.
 */
public final class ExtensionFuzz {

  private static final int CONV = 7;
  private static final long TOKEN = 0x0102_0304_0506_0708L;
  private static final long PEER_TOKEN = 0x1112_1314_1516_1718L;
  private static final int MTU = 200;
  private static final int PARAMETERS = 18;

  private static final InetSocketAddress REMOTE =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 4001);

  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);
  private static final KcpConfig CONFIG = KcpConfig.builder().mtuBytes(MTU).build();
  private static final ByteBuf PACKET = Unpooled.buffer(8192, 8192);
  private static final ByteBuf SENT = Unpooled.wrappedBuffer(new byte[4096]);
  private static final ResetTokens RESET_TOKENS = new ResetTokens(new byte[16]);

  private final FuzzInput input;
  private final KcpContext context = KcpContext.of(ALLOCATOR);
  private final TimerWheel deadlines = new TimerWheel(0);
  private final TestDriver driver;
  private final SessionTable table;
  private final boolean isClient;

  /** Null when the session has ended or is closing. */
  private Session session;

  private long nowUs = 1_000_000;
  private boolean isOffered;
  private boolean hasShownToken;

  // Of the last PUSH that was sent.
  private int lastSn;
  private int lastTs;

  private ExtensionFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    driver = TestDriver.builder(context).deadlines(deadlines).nowUs(nowUs).maxSessions(1).build();
    table = driver.table;
    table.resetTokens(RESET_TOKENS);
    driver.output = remote -> new CheckedOutput();
    driver.onProgress = this::progressed;
    driver.onEnd = this::ended;
    driver.acceptor = (remote, conv) -> null; // A minute after the session, another may begin.
    isClient = input.oneIn(2);
    Kcp kcp = new Kcp(CONV, CONFIG, context, 0x7000_0000);
    session = driver.newSession(REMOTE, kcp);
    if (isClient) {
      session.offerExtension(TOKEN);
    } else {
      session.answerExtension(TOKEN, 42);
    }
    table.add(session, nowUs);
  }

  /** One session. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    ExtensionFuzz fuzz = new ExtensionFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
    }
    fuzz.close();
    Check.that(fuzz.table.size() == 0, "a session left");
    Check.that(fuzz.context.budget().usedBytes() == 0, "still charged when all is closed");
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks");
  }

  private void close() {
    if (session != null) {
      table.remove(session, nowUs);
      session.close();
    }
    table.close();
  }

  private void step() {
    int op = input.unsignedByte();
    switch (op & 7) {
      case 0, 1, 2, 3 -> receive(op >> 3);
      case 4 -> advance(input.unsignedByte() << (op >> 6));
      case 5 -> write();
      case 6 -> end(op >> 3);
      default -> table.flushPending(nowUs);
    }
  }

  private void advance(int ms) {
    nowUs += 1_000L * ms;
    deadlines.advance(nowUs);
    table.flushPending(nowUs);
  }

  private void write() {
    if (session != null) {
      SENT.setIndex(0, input.unsignedShort() % 1000);
      session.kcp().send(SENT);
      table.scheduleFlush(session);
      table.flushPending(nowUs);
    }
  }

  private void end(int kind) {
    if (session == null) {
      return;
    }
    switch (kind & 3) {
      case 0 -> session.shutdownOutput(nowUs);
      case 1 -> session.sendClose(nowUs);
      case 2 -> {
        table.closeGracefully(session, nowUs);
        session = null;
      }
      default -> {
        table.abort(session, kind, nowUs);
        session = null;
      }
    }
    if (session != null) {
      table.scheduleFlush(session);
    }
    table.flushPending(nowUs);
  }

  /** A datagram with an ACK, a PUSH, or neither, and a message. */
  private void receive(int kind) {
    PACKET.clear();
    if ((kind & 1) != 0) {
      int ts = (kind & 2) == 0 ? lastTs : lastTs + input.signedByte();
      Segment.write(PACKET, CONV, Segment.ACK, 0, 128, ts, lastSn, 0, 0);
    }
    if ((kind & 4) != 0) {
      Segment.write(PACKET, CONV, Segment.PUSH, 0, 128, 0, input.below(4), 0, 0);
    }
    int header = PACKET.writerIndex();
    PACKET.writerIndex(header + Segment.HEADER_BYTES);
    int message = PACKET.writerIndex();
    writeMessage();
    int length = PACKET.writerIndex() - message;
    if ((kind & 24) == 24) {
      length = Math.max(0, length - 1 - input.below(12));
    }
    PACKET.writerIndex(header);
    int sn = (kind & 16) == 0 ? 0 : 99; // That of an offer of lanes.
    Segment.write(PACKET, CONV, Segment.WINS, 0, 128, 0x102, sn, 0, length);
    PACKET.writerIndex(message + length);
    table.receive(REMOTE, PACKET, nowUs);
    table.endBatch(nowUs);
  }

  private void writeMessage() {
    int kind = input.unsignedByte();
    PACKET.writeByte(kind == 1 ? 0 : 0x4b).writeByte(kind == 2 ? 2 : 1);
    for (int items = kind >> 5; items > 0; items--) {
      writeItem(input.unsignedByte());
    }
  }

  private void writeItem(int kind) {
    int type = kind & 15;
    boolean isRight = kind < 224;
    switch (type) {
      case 1, 2 -> writeItem(type, Long.BYTES, isRight ? PEER_TOKEN : input.integer());
      case 3 -> writeItem(type, Long.BYTES, isRight ? TOKEN : input.integer());
      case 4, 5, 6 -> writeItem(type, Integer.BYTES, input.signedByte());
      case 7 -> writeItem(type, 1, input.below(8));
      case 8 -> {
        writeItem(type, Long.BYTES + 16, 42);
        PACKET.writeZero(16);
      }
      case 9 -> {
        writeItem(type, Long.BYTES + Integer.BYTES + echoBytes(isRight), 42);
        PACKET.writeIntLE(0).writeZero(echoBytes(isRight));
      }
      case 10 -> {
        writeItem(type, 16 + echoBytes(isRight), 0);
        PACKET.writeZero(8 + echoBytes(isRight));
      }
      case 12 -> {
        writeItem(type, Long.BYTES + echoBytes(isRight), 42);
        PACKET.writeZero(echoBytes(isRight));
      }
      case 15 -> {
        PACKET.writeByte(PARAMETERS).writeShortLE(isRight ? 7 : input.below(12));
        PACKET.writeBytes(input.take(7));
      }
      default -> {
        byte[] value = input.take(input.below(20));
        PACKET.writeByte(type).writeShortLE(value.length + (isRight ? 0 : 1)).writeBytes(value);
      }
    }
    isOffered |= type == 1 || type == 9; // A query is answered without an offer.
    hasShownToken |= type == 3 && isRight;
  }

  private static int echoBytes(boolean isThere) {
    return isThere ? 16 : 0;
  }

  private static void writeItem(int type, int bytes, long value) {
    PACKET.writeByte(type).writeShortLE(bytes);
    switch (bytes) {
      case 1 -> PACKET.writeByte((int) value);
      case Integer.BYTES -> PACKET.writeIntLE((int) value);
      default -> PACKET.writeLongLE(value);
    }
  }

  private void progressed(Session progressed) {
    for (ByteBuf data; (data = progressed.kcp().receive()) != null; data.release()) {
      Check.that(data.refCnt() == 1, "of several owners");
    }
    boolean hasEnded = progressed.isInputFinished() || progressed.hasPeerClosed();
    Check.that(!hasEnded || hasShownToken, "ended without the token");
  }

  private void ended(Session ended, EndReason reason) {
    Check.that(reason != EndReason.RESET || hasShownToken, "reset without the token");
    session = null;
  }

  /** Remembers the last PUSH. */
  private final class CheckedOutput implements DatagramOutput {

    private final ByteBuf datagram = Unpooled.buffer(2048);

    @Override
    public ByteBuf begin(int maxBytes) {
      return datagram.clear();
    }

    @Override
    public void end() {
      Check.that(datagram.readableBytes() <= MTU, "larger than the MTU");
      int index = 0;
      while (index < datagram.writerIndex()) {
        int cmd = Segment.cmd(datagram, index);
        int end = index + Segment.HEADER_BYTES + Segment.length(datagram, index);
        if (cmd == Segment.PUSH) {
          lastSn = Segment.sn(datagram, index);
          lastTs = Segment.ts(datagram, index);
        } else if (end > index + Segment.HEADER_BYTES) {
          Check.that(end == datagram.writerIndex(), "a message is not the last segment");
          Check.that(isClient || isOffered, "a message to a peer that has not offered");
        }
        index = end;
      }
    }
  }
}
