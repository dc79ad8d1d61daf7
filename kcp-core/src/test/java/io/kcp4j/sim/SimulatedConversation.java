package io.kcp4j.sim;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.session.Session;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/**
 * One side of a session: writes and reads a number of bytes, sends and receives unreliable
 * datagrams, and closes. It may have the extension.
 */
final class SimulatedConversation {

  /** One in so many calls of {@link #write} sends unreliable datagrams. */
  private static final int UNRELIABLE_EVERY = 8;

  private final int conv;
  private final KcpConfig config;
  private final UnreliableTraffic sentUnreliable;
  private final UnreliableTraffic receivedUnreliable;
  private final long bytesToWrite;
  private final Payload written;
  private final long bytesToRead;
  private final Payload received;
  private final SplittableRandom random;
  private final boolean hasExtension;

  /** Null unless the delivery is lanes, and before the session begins. */
  private LaneTraffic lanes;

  private final Runnable done;

  private final ByteBuf unsent = Unpooled.buffer(4096);
  private FecConfig fec;
  private ByteBufAllocator allocator;
  private Session session;
  private long bytesWritten;
  private long bytesRead;
  private boolean mayExceedMtu;
  private SimulatedConversation peer;
  private boolean isDoneReported;
  private boolean isClosed;
  private boolean isAborted;

  /**
   * Makes one side.
   *
   * @param fec its initial settings of FEC
   * @param datagramQueue how many unreliable datagrams may wait for it
   * @param done called once, when all was written, acknowledged and read
   */
  SimulatedConversation(
      int conv,
      KcpConfig config,
      FecConfig fec,
      int datagramQueue,
      UnreliableTraffic sentUnreliable,
      UnreliableTraffic receivedUnreliable,
      long bytesToWrite,
      Payload written,
      long bytesToRead,
      Payload received,
      SplittableRandom random,
      Runnable done) {
    this.conv = conv;
    this.config = config.toBuilder().datagramQueue(datagramQueue).build();
    this.fec = fec;
    this.sentUnreliable = sentUnreliable;
    this.receivedUnreliable = receivedUnreliable;
    this.bytesToWrite = bytesToWrite;
    this.written = written;
    this.bytesToRead = bytesToRead;
    this.received = received;
    this.random = random;
    this.done = done;
    hasExtension = random.nextInt(4) > 0 || hasLanes();
  }

  void connect(SimulatedConversation peer) {
    this.peer = peer;
  }

  SimulatedConversation peer() {
    return peer;
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

  void attach(Session session, boolean isClient, ByteBufAllocator allocator, SessionTable table) {
    Check.that(this.session == null, "begins a second time");
    this.session = session;
    this.allocator = allocator;
    if (hasLanes()) {
      attachLanes(isClient, table);
    } else if (hasExtension && isClient) {
      session.offerExtension(random.nextLong());
    } else if (hasExtension) {
      session.answerExtension(random.nextLong(), random.nextLong());
    }
    session.reconfigure(config, fec);
  }

  private boolean hasLanes() {
    return config.delivery() == Delivery.LANES;
  }

  private void attachLanes(boolean isClient, SessionTable table) {
    LanesConfig settings = LaneTraffic.drawConfig(random);
    long token = random.nextLong();
    lanes =
        new LaneTraffic(
            isClient
                ? table.offerLanes(session, settings, token)
                : table.answerLanes(session, settings, token, random.nextLong()),
            allocator,
            random.split(),
            true,
            0);
    if (peer.lanes != null) {
      lanes.connect(peer.lanes);
      peer.lanes.connect(lanes);
    }
  }

  /** Changes FEC at any time. */
  void changeFec(FecConfig next) {
    if (session != null && !isClosed) {
      try {
        session.reconfigure(config, next);
      } catch (OutOfMemoryError e) { // Queued segments could not be re-segmented.
        Check.that(session.fecConfig() == fec, "has changed nevertheless");
        return;
      }
    }
    boolean isLarger = next.isEncoding() && !fec.isEncoding();
    mayExceedMtu |= isLarger;
    fec = next;
  }

  /** The size of the largest packet, in bytes. Segments that exist keep their size. */
  int maxPacketBytes() {
    return config.mtuBytes() + (mayExceedMtu ? FecPacket.DATA_HEADER_BYTES : 0);
  }

  /** Writes as much as there is room for; returns whether anything was taken. */
  boolean write() {
    if (hasLanes()) {
      writeToLanes();
      sendUnreliable();
      return true;
    }
    boolean wrote = false;
    while (bytesWritten < bytesToWrite) {
      if (!unsent.isReadable()) {
        unsent.clear();
        written.write(
            unsent, (int) Math.min(1 + random.nextInt(5000), bytesToWrite - bytesWritten));
      }
      int before = unsent.readableBytes();
      boolean all = session.kcp().send(unsent);
      bytesWritten += before - unsent.readableBytes();
      wrote |= unsent.readableBytes() < before || session.kcp().isSendDeferred();
      if (!all) {
        break;
      }
    }
    return sendUnreliable() || wrote;
  }

  private void writeToLanes() {
    for (int i = 0; i < 20 && lanes.bytesQueued() < bytesToWrite && lanes.isWritable(); i++) {
      lanes.write(3 * config.mssBytes());
    }
    bytesWritten = Math.min(lanes.bytesQueued(), bytesToWrite);
  }

  /** Sends unreliable datagrams at random times; returns whether it has sent any. */
  private boolean sendUnreliable() {
    int maxBytes = session.maxUnreliableBytes();
    if (isDoneReported
        || maxBytes < UnreliableTraffic.MIN_BYTES
        || random.nextInt(UNRELIABLE_EVERY) > 0) {
      return false;
    }
    for (int i = random.nextInt(4); i >= 0; i--) {
      int bytes = random.nextInt(UnreliableTraffic.MIN_BYTES, maxBytes + 1);
      session.sendUnreliable(sentUnreliable.next(bytes, allocator));
    }
    return true;
  }

  /** Reads and checks all that was received. */
  void read() {
    Check.that(!isClosed, "progresses after it was closed");
    if (hasLanes() && peer.lanes != null) {
      lanes.read(Integer.MAX_VALUE, Long.MAX_VALUE);
    }
    while (session.kcp().isReceivable()) {
      ByteBuf data = session.kcp().receive();
      bytesRead += data.readableBytes();
      Check.that(bytesRead <= bytesToRead, "reads more than was written");
      Check.that(received.matchesNext(data), () -> "altered within " + bytesRead + " bytes");
      data.release();
    }
    for (ByteBuf datagram; (datagram = session.receiveUnreliable()) != null; datagram.release()) {
      receivedUnreliable.check(datagram);
    }
  }

  /** Whether the peer has ended the session in order; then everything has been received. */
  boolean isEndedByPeer() {
    boolean isEnded = session.isInputFinished();
    Check.that(
        !isEnded || (hasLanes() ? isLanesRead() : bytesRead == peer.bytesWritten),
        "ends before all was read");
    return isEnded;
  }

  /** Calls {@code done} once all was written, acknowledged and read. */
  void reportWhenDone() {
    boolean sentAll = bytesWritten == bytesToWrite && session.kcp().isDrained();
    if (sentAll && hasReceivedAll() && !isDoneReported) {
      isDoneReported = true;
      done.run();
    }
  }

  boolean isDone() {
    return isDoneReported;
  }

  boolean hasReceivedAll() {
    return hasLanes()
        ? peer.bytesWritten == peer.bytesToWrite && isLanesRead()
        : bytesRead == bytesToRead;
  }

  private boolean isLanesRead() {
    return peer.lanes != null && peer.lanes.missing() == null;
  }

  void closed() {
    Check.that(!isClosed, "is closed a second time");
    isClosed = true;
  }

  boolean isClosed() {
    return isClosed;
  }

  void aborted() {
    isAborted = true;
  }

  boolean isAborted() {
    return isAborted;
  }

  /** Why a side may end that has not been closed, while the other has. */
  boolean mayEndPeer(EndReason reason) {
    return isClosed
        && switch (reason) {
          case KEEP_ALIVE_TIMEOUT, HANDSHAKE_TIMEOUT, ZERO_WINDOW_TIMEOUT -> true;
          case RESET -> isAborted;
          case SESSION_UNKNOWN -> hasExtension;
          default -> false;
        };
  }

  @Override
  public String toString() {
    return "wrote %d of %d bytes, read %d of %d%s"
        .formatted(bytesWritten, bytesToWrite, bytesRead, bytesToRead, isClosed ? ", closed" : "");
  }
}
