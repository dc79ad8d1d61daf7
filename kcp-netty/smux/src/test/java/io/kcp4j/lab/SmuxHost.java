package io.kcp4j.lab;

import io.kcp4j.KcpConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.arq.Kcp.InputResult;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.sim.VirtualTime;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxSession;
import io.kcp4j.smux.SmuxSessionListener;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.nio.ByteBuffer;
import java.util.function.Function;

/** A machine with one smux session over one {@link Kcp}, which pulls frames as segments leave. */
final class SmuxHost implements SmuxSessionListener, SegmentSource {

  private static final long US_PER_MS = 1_000;

  private final VirtualTime time;
  private final ByteBufAllocator allocator = new UnpooledByteBufAllocator(true, true);
  private final Kcp kcp;
  private final Function<SmuxStream, SmuxStreamListener> acceptor;
  private final SmuxSession session;
  private final Runnable endBatch = this::endBatch;
  private final Runnable flush = this::flush;
  private final Runnable wake = this::wake;
  private LabLink out;

  /** What is left of the frame that was taken last, or null. */
  private ByteBuf frame;

  private boolean isInBatch;
  private boolean isFlushPending;
  private long timerAtUs = Long.MAX_VALUE;

  SmuxHost(
      VirtualTime time,
      KcpConfig config,
      boolean client,
      Function<SmuxStream, SmuxStreamListener> acceptor) {
    this.time = time;
    this.acceptor = acceptor;
    kcp = new Kcp(1, config, KcpContext.of(allocator), 0);
    kcp.source(this);
    session = new SmuxSession(SmuxConfig.DEFAULT, client, this, time.nowMs());
    runTimers();
  }

  SmuxSession session() {
    return session;
  }

  void connect(LabLink link) {
    out = link;
  }

  void received(ByteBuf datagram) {
    if (kcp.input(datagram, time.nowUs()) != InputResult.ACCEPTED) {
      throw new AssertionError("refused");
    }
    if (!isInBatch) {
      isInBatch = true;
      time.after(0, endBatch);
    }
  }

  private void endBatch() {
    isInBatch = false;
    try {
      for (ByteBuf data; (data = kcp.receive()) != null; data.release()) {
        session.receive(data, time.nowMs());
      }
    } catch (SmuxException e) {
      throw new AssertionError(e);
    }
    kcp.afterInput(time.nowUs(), out);
    arm();
  }

  private void runTimers() {
    try {
      time.afterMs(session.runTimers(time.nowMs()), this::runTimers);
    } catch (SmuxException e) {
      throw new AssertionError(e);
    }
  }

  private void flush() {
    isFlushPending = false;
    kcp.afterSend(time.nowUs(), out);
    arm();
  }

  private void arm() {
    long deadlineUs = kcp.nextDeadline();
    if (deadlineUs < timerAtUs) {
      // Timers of drivers have whole milliseconds.
      timerAtUs = -Math.floorDiv(-deadlineUs, US_PER_MS) * US_PER_MS;
      time.at(timerAtUs, wake);
    }
  }

  private void wake() {
    if (time.nowUs() >= timerAtUs) {
      timerAtUs = Long.MAX_VALUE;
      kcp.flush(time.nowUs(), out);
      arm();
    }
  }

  void close() {
    session.fail(new Exception("closed"));
    kcp.close();
    if (frame != null) {
      frame.release();
      frame = null;
    }
  }

  // What the smux session reports

  @Override
  public SmuxStreamListener streamOpened(SmuxStream stream) {
    return acceptor.apply(stream);
  }

  @Override
  public void frameReady() {
    if (!isFlushPending) {
      isFlushPending = true;
      time.after(0, flush);
    }
  }

  @Override
  public void receiveReady() {}

  // What segments hold

  @Override
  public boolean isReady() {
    return frame != null || session.hasFrame();
  }

  @Override
  public void pull(ByteBuffer payload, int enoughBytes) {
    while (payload.hasRemaining() && isReady()) {
      if (frame == null) {
        frame = session.nextFrame(allocator);
      }
      int bytes = Math.min(payload.remaining(), frame.readableBytes());
      int limit = payload.limit();
      payload.limit(payload.position() + bytes);
      frame.readBytes(payload);
      payload.limit(limit);
      if (!frame.isReadable()) {
        frame.release();
        frame = null;
      }
    }
  }

  @Override
  public void onSent(int segments) {}
}
