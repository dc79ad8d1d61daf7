package io.kcp4j.sim;

import io.kcp4j.KcpConfig;
import io.kcp4j.session.Session;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.SplittableRandom;

/** What one side of a session says and hears: so many bytes each way, then it closes. */
final class SimulatedConversation {

  private final int conv;
  private final KcpConfig config;
  private final long bytesToWrite;
  private final Payload said;
  private final long bytesToRead;
  private final Payload heard;
  private final SplittableRandom random;
  private final Runnable done;

  private final ByteBuf unsent = Unpooled.buffer(4096);
  private Session session;
  private long bytesWritten;
  private long bytesRead;
  private boolean doneWasTold;
  private boolean isClosed;

  /**
   * Makes one side.
   *
   * @param done called once, when all was written, acknowledged and read
   */
  SimulatedConversation(
      int conv,
      KcpConfig config,
      long bytesToWrite,
      Payload said,
      long bytesToRead,
      Payload heard,
      SplittableRandom random,
      Runnable done) {
    this.conv = conv;
    this.config = config;
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

  void attach(Session session) {
    Check.that(this.session == null, "begins a second time");
    this.session = session;
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
      wrote |= unsent.readableBytes() < before;
      if (!all) {
        break;
      }
    }
    return wrote;
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
