package io.kcp4j.sim;

import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.fec.FecPacket;
import io.kcp4j.session.Session;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/**
 * What one side of a session says and hears: so many bytes each way, and unreliable datagrams
 * beside them; then it closes.
 */
final class SimulatedConversation {

  /** One in so many turns to write says something unreliable. */
  private static final int UNRELIABLE_EVERY = 8;

  private final int conv;
  private final KcpConfig config;
  private final int unreliableLimit;
  private final UnreliableTalk saidBeside;
  private final UnreliableTalk heardBeside;
  private final long bytesToWrite;
  private final Payload said;
  private final long bytesToRead;
  private final Payload heard;
  private final SplittableRandom random;
  private final Runnable done;

  private final ByteBuf unsent = Unpooled.buffer(4096);
  private FecConfig fec;
  private ByteBufAllocator allocator;
  private Session session;
  private long bytesWritten;
  private long bytesRead;
  private boolean mayExceedMtu;
  private boolean doneWasTold;
  private boolean isClosed;

  /**
   * Makes one side.
   *
   * @param fec its settings of FEC at first
   * @param unreliableLimit how many unreliable datagrams may wait for it
   * @param done called once, when all was written, acknowledged and read
   */
  SimulatedConversation(
      int conv,
      KcpConfig config,
      FecConfig fec,
      int unreliableLimit,
      UnreliableTalk saidBeside,
      UnreliableTalk heardBeside,
      long bytesToWrite,
      Payload said,
      long bytesToRead,
      Payload heard,
      SplittableRandom random,
      Runnable done) {
    this.conv = conv;
    this.config = config;
    this.fec = fec;
    this.unreliableLimit = unreliableLimit;
    this.saidBeside = saidBeside;
    this.heardBeside = heardBeside;
    this.bytesToWrite = bytesToWrite;
    this.said = said;
    this.bytesToRead = bytesToRead;
    this.heard = heard;
    this.random = random;
    this.done = done;
  }

  int conv() {
    return conv;
  }

  KcpConfig config() {
    return config;
  }

  Session session() {
    return session;
  }

  void attach(Session session, ByteBufAllocator allocator) {
    Check.that(this.session == null, "begins a second time");
    this.session = session;
    this.allocator = allocator;
    session.reconfigure(config, fec);
    session.unreliableLimit(unreliableLimit);
  }

  /** Changes FEC at any time. */
  void changeFec(FecConfig next) {
    if (session != null && !isClosed) {
      try {
        session.reconfigure(config, next);
      } catch (OutOfMemoryError e) { // What is queued could not be cut anew.
        Check.that(session.fecConfig() == fec, "has changed for all that");
        return;
      }
    }
    boolean isLarger = next.isEncoding() && !fec.isEncoding();
    mayExceedMtu |= isLarger;
    fec = next;
  }

  /** The largest packet that may leave, in bytes: what was cut already keeps its size. */
  int maxPacketBytes() {
    return config.mtuBytes() + (mayExceedMtu ? FecPacket.DATA_HEADER_BYTES : 0);
  }

  /** Writes as much as there is room for; returns whether anything was taken. */
  boolean write() {
    boolean wrote = false;
    while (bytesWritten < bytesToWrite) {
      if (!unsent.isReadable()) {
        unsent.clear();
        said.write(unsent, (int) Math.min(1 + random.nextInt(5000), bytesToWrite - bytesWritten));
      }
      int before = unsent.readableBytes();
      boolean all = session.kcp().send(unsent);
      bytesWritten += before - unsent.readableBytes();
      wrote |= unsent.readableBytes() < before || session.kcp().isSendDeferred();
      if (!all) {
        break;
      }
    }
    return sayBeside() || wrote;
  }

  /** Says something unreliable now and then, or several things at once. */
  private boolean sayBeside() {
    int maxBytes = session.maxUnreliableBytes();
    if (doneWasTold
        || maxBytes < UnreliableTalk.MIN_BYTES
        || random.nextInt(UNRELIABLE_EVERY) > 0) {
      return false;
    }
    for (int i = random.nextInt(4); i >= 0; i--) {
      int bytes = random.nextInt(UnreliableTalk.MIN_BYTES, maxBytes + 1);
      session.sendUnreliable(saidBeside.say(bytes, allocator));
    }
    return true;
  }

  /** Reads and checks all there is. */
  void read() {
    Check.that(!isClosed, "progresses after it was closed");
    while (session.kcp().isReceivable()) {
      ByteBuf data = session.kcp().receive();
      bytesRead += data.readableBytes();
      Check.that(bytesRead <= bytesToRead, "hears more than was said");
      Check.that(heard.matchesNext(data), () -> "altered within " + bytesRead + " bytes");
      data.release();
    }
    for (ByteBuf datagram; (datagram = session.receiveUnreliable()) != null; datagram.release()) {
      heardBeside.hear(datagram);
    }
  }

  /** Calls {@code done} if it is. */
  void tellWhenDone() {
    boolean saidAll = bytesWritten == bytesToWrite && session.kcp().isDrained();
    if (saidAll && hasHeardAll() && !doneWasTold) {
      doneWasTold = true;
      done.run();
    }
  }

  boolean isDone() {
    return doneWasTold;
  }

  boolean hasHeardAll() {
    return bytesRead == bytesToRead;
  }

  void closed() {
    Check.that(!isClosed, "is closed a second time");
    isClosed = true;
  }

  boolean isClosed() {
    return isClosed;
  }

  @Override
  public String toString() {
    return "wrote %d of %d bytes, read %d of %d%s"
        .formatted(bytesWritten, bytesToWrite, bytesRead, bytesToRead, isClosed ? ", closed" : "");
  }
}
