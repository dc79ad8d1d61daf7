package io.kcp4j.fuzz;

import io.kcp4j.internal.session.Session;
import io.kcp4j.netty.internal.ConnectionMemory;
import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxSession;
import io.kcp4j.smux.SmuxSessionListener;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.nio.channels.ClosedChannelException;
import java.util.function.Function;

/** A smux session over a session, driven as the channels of {@code kcp-netty} drive it. */
final class SmuxLink implements SmuxSessionListener {

  private static final int US_PER_MS = 1_000;

  final SmuxSession smux;

  private final Session session;
  private final ByteBufAllocator allocator;
  private final Function<SmuxStream, SmuxStreamListener> acceptor;

  /** What the session has not taken of a frame, or null. */
  private ByteBuf frame;

  private boolean wasValidated;
  private boolean hasFailed;

  SmuxLink(
      Session session,
      SmuxConfig config,
      boolean isClient,
      ConnectionMemory memory,
      ByteBufAllocator allocator,
      Function<SmuxStream, SmuxStreamListener> acceptor,
      long nowUs) {
    this.session = session;
    this.allocator = allocator;
    this.acceptor = acceptor;
    wasValidated = session.path().isValidated();
    smux = new SmuxSession(config, isClient, this, memory, nowUs / US_PER_MS);
  }

  /** Whether the peer has broken the protocol. */
  boolean hasFailed() {
    return hasFailed;
  }

  /** Whether the session is not read, because streams or memory have no room. */
  boolean isBlocked() {
    return !hasFailed && smux.isReceiveBlocked();
  }

  /** Takes in what has arrived, as far as there is room, and sends what the session takes. */
  void progress(long nowUs) {
    if (!wasValidated && session.path().isValidated()) {
      wasValidated = true;
      smux.peerValidated(allocator);
    }
    try {
      for (ByteBuf part; !isBlocked() && (part = session.kcp().receive()) != null; ) {
        try {
          smux.receive(part, nowUs / US_PER_MS);
        } finally {
          part.release();
        }
      }
    } catch (SmuxException e) {
      fail(e);
    }
    pull();
  }

  void runTimers(long nowUs) {
    try {
      smux.runTimers(nowUs / US_PER_MS);
    } catch (SmuxException e) {
      fail(e);
    }
    progress(nowUs);
  }

  private void pull() {
    while (session.kcp().isSendable() && (frame != null || smux.hasFrame())) {
      if (frame == null) {
        frame = smux.nextFrame(ByteBufAllocator.DEFAULT);
      }
      if (frame == null || !session.kcp().send(frame)) {
        return;
      }
      frame.release();
      frame = null;
    }
  }

  private void fail(Exception cause) {
    hasFailed = true;
    smux.fail(cause);
  }

  /** The session has ended: all streams fail. */
  void end() {
    fail(new ClosedChannelException());
    if (frame != null) {
      frame.release();
      frame = null;
    }
  }

  @Override
  public SmuxStreamListener streamOpened(SmuxStream stream) {
    return acceptor.apply(stream);
  }

  // The caller takes frames, and reads on, after each call.

  @Override
  public void frameReady() {}

  @Override
  public void receiveReady() {}
}
