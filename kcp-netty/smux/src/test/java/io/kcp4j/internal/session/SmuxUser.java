package io.kcp4j.internal.session;

import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxSession;
import io.kcp4j.smux.SmuxSessionListener;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayDeque;
import java.util.Queue;

/**
 * Writes to a stream of smux. Stands for {@code SmuxHandler} of kcp-netty: it reads the connection
 * whether or not the stream is read, and a stream can be read after the connection has ended. Smux
 * has no keep-alive here, so that a dead peer is noticed by the session.
 */
final class SmuxUser extends EndingUser
    implements SmuxSessionListener, SmuxStreamListener, SmuxStreamSource {

  private static final SmuxConfig CONFIG =
      SmuxConfig.builder().version(2).keepAliveMs(0).keepAliveTimeoutMs(0).build();

  private final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false);

  /** What the stream has not sent. */
  private final ByteBuf waiting = Unpooled.buffer();

  /** What had arrived when the connection ended. */
  private final Queue<ByteBuf> kept = new ArrayDeque<>();

  /** Whether the end of the stream had, too. */
  private boolean isEndKept;

  private SmuxSession smux;
  private SmuxStream stream;

  /** A frame for which the session had no room, or null. */
  private ByteBuf frame;

  private boolean hasReadEnd;
  private boolean isFinishing;
  private boolean isOutputEnded;
  private boolean isEnded;

  SmuxUser(VirtualHost host) {
    super(host);
  }

  @Override
  void open() {
    smux = new SmuxSession(CONFIG, true, this, host.nowUs / 1_000);
    try {
      stream = smux.open(this, this);
    } catch (SmuxException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public SmuxStreamListener streamOpened(SmuxStream opened) {
    stream = opened;
    opened.source(this);
    return this;
  }

  @Override
  void add(int bytes) {
    waiting.writeBytes(content(written(), bytes));
    stream.outputReady();
  }

  @Override
  void send() {
    while (smux != null && !isEnded) {
      frame = frame == null ? smux.nextFrame(allocator) : frame;
      if (frame == null || !host.session.kcp().send(frame)) {
        break;
      }
      frame.release();
      frame = null;
    }
    host.driver.table.scheduleFlush(host.session);
  }

  @Override
  boolean isQueued() {
    return frame == null;
  }

  @Override
  void read() {
    receive();
    for (ByteBuf part; !isPaused && (part = next()) != null; ) {
      readAt(bytesRead(), part);
    }
    hasReadEnd |= !isPaused && (isEnded ? isEndKept : stream != null && stream.isInputEnded());
  }

  /** The connection is read, as long as smux has room. */
  private void receive() {
    if (isEnded) {
      return;
    }
    if (smux == null) {
      smux = new SmuxSession(CONFIG, false, this, host.nowUs / 1_000);
    }
    for (ByteBuf part;
        !smux.isReceiveBlocked() && (part = host.session.kcp().receive()) != null; ) {
      try {
        smux.receive(part, host.nowUs / 1_000);
      } catch (SmuxException e) {
        throw new AssertionError(e);
      } finally {
        part.release();
      }
    }
  }

  private ByteBuf next() {
    return isEnded || stream == null ? kept.poll() : stream.read();
  }

  @Override
  void discard() {
    for (ByteBuf part; (part = host.session.kcp().receive()) != null; part.release()) {}
  }

  @Override
  boolean isDrained() {
    return !host.session.kcp().isReceivable();
  }

  @Override
  boolean isRead() {
    return isEnded
        ? kept.isEmpty()
        : isDrained() && (stream == null || stream.readableBytes() == 0);
  }

  @Override
  boolean finish() {
    if (!isFinishing && !isEnded) {
      isFinishing = true;
      stream.shutdownOutput();
      send();
    }
    return true;
  }

  @Override
  boolean isFinished() {
    return isOutputEnded || isEnded;
  }

  @Override
  boolean hasReadEnd() {
    return hasReadEnd;
  }

  @Override
  void end() {
    if (isEnded || smux == null) {
      return;
    }
    if (stream != null) {
      for (ByteBuf part; (part = stream.read()) != null; ) {
        kept.add(part);
      }
      isEndKept = stream.isInputEnded();
    }
    isEnded = true;
    smux.fail(new ClosedChannelException());
    if (frame != null) {
      frame.release();
    }
  }

  @Override
  public boolean isEmpty() {
    return !waiting.isReadable();
  }

  @Override
  public ByteBuf take(int maxBytes) {
    return waiting.readBytes(Math.min(maxBytes, waiting.readableBytes()));
  }

  @Override
  public void outputEnded(SmuxStream ended) {
    isOutputEnded = true;
  }

  @Override
  public void frameReady() {}

  @Override
  public void receiveReady() {}

  @Override
  public void inputReady(SmuxStream ready) {}

  @Override
  public void outputStopped(SmuxStream stopped, SmuxException cause) {}

  @Override
  public void failed(SmuxStream failed, Throwable cause) {}
}
