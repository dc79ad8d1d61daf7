package io.kcp4j.fuzz;

import io.kcp4j.smux.SmuxConfig;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxSession;
import io.kcp4j.smux.SmuxSessionListener;
import io.kcp4j.smux.SmuxStats;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * A hostile peer of a smux session: frames that are valid, false or garbled, in any order and cut
 * anywhere, while local users open, read, write, pause and close. Streams, buffers and replies stay
 * within their limits; frames are well formed; nothing follows a FIN; the peer's windows and its
 * receive buffer are respected; nothing is left in the end.
 */
public final class SmuxFuzz {

  private static final int MAX_STREAMS = 4;
  private static final int MAX_RECEIVE_BUFFER = 4096;
  private static final int PEER_RECEIVE_BUFFER = 4096;
  private static final int MAX_PAYLOAD = 2048;

  private static final UnpooledByteBufAllocator ALLOCATOR =
      new UnpooledByteBufAllocator(false, true);

  private final FuzzInput input;
  private final int version;
  private final SmuxSession session;
  private final List<User> users = new ArrayList<>();
  private final SmuxPeerModel peer;
  private final ByteBuf toReceive = ALLOCATOR.buffer();
  private long nowMs;
  private boolean hasFailed;

  private SmuxFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int settings = input.unsignedByte();
    version = 1 + (settings & 1);
    SmuxConfig config =
        SmuxConfig.builder()
            .version(version)
            .maxFrameSize((settings & 2) == 0 ? 100 : 32_768)
            .maxReceiveBuffer(MAX_RECEIVE_BUFFER)
            .maxStreamBuffer((settings & 4) == 0 ? 1000 : MAX_RECEIVE_BUFFER)
            .peerReceiveBuffer(PEER_RECEIVE_BUFFER)
            .maxStreams(MAX_STREAMS)
            .maxNewStreamsPerSecond(8)
            .stalledStreamMs(1000)
            .closeTimeoutMs(2000)
            .keepAliveMs(5000)
            .keepAliveTimeoutMs((settings & 8) == 0 ? 0 : 15_000)
            .build();
    session = new SmuxSession(config, (settings & 16) == 0, new Listener(), nowMs);
    peer = new SmuxPeerModel(session, PEER_RECEIVE_BUFFER, 2 * MAX_STREAMS, ALLOCATOR.buffer());
  }

  /** One session. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    SmuxFuzz fuzz = new SmuxFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
      fuzz.checkState();
    }
    fuzz.session.fail(new Exception("end"));
    fuzz.toReceive.release();
    fuzz.peer.release();
    for (User user : fuzz.users) {
      boolean haveBothEnded = user.isOutputEnded && user.stream.isInputEnded();
      Check.that(haveBothEnded || user.stream.isClosed(), "a stream has not ended");
    }
    SmuxStats stats = fuzz.session.stats();
    Check.that(stats.openStreams() + stats.closingStreams() == 0, "streams are left");
    Check.that(stats.unreadBytes() == 0, "unread bytes are left");
    Check.that(stats.unacknowledgedBytes() == 0, "the budget is not whole");
    long leaked = ALLOCATOR.metric().usedHeapMemory() + ALLOCATOR.metric().usedDirectMemory();
    Check.that(leaked == 0, "leaks " + leaked);
  }

  private void step() {
    int op = input.unsignedByte();
    switch (op & 7) {
      case 0, 1, 2 -> writeFrame(op >> 3);
      case 3 -> receive(op >> 3);
      case 4 -> act(op >> 3);
      case 5 -> send(op >> 3);
      case 6 -> advance(op >> 3);
      default -> open(op >> 3);
    }
  }

  // The peer

  private void writeFrame(int kind) {
    int command = kind & 7;
    int id = input.below(16) - 2;
    switch (command) {
      case 0, 1, 3 -> header(command, 0, id);
      case 2 -> {
        int length = input.unsignedShort() % MAX_PAYLOAD;
        header(2, length, id);
        toReceive.writeZero(length);
      }
      case 4 -> update(id, kind >> 3);
      case 5 -> {
        header(2, 20, id);
        toReceive.writeZero(20);
      }
      case 6 -> toReceive.writeBytes(input.take(input.below(12)));
      default -> {
        // A large frame, perhaps beyond the window.
        header(2, 65_535, id);
        toReceive.writeZero(65_535);
      }
    }
  }

  private void header(int command, int length, int id) {
    toReceive.writeByte(version).writeByte(command).writeShortLE(length).writeIntLE(id);
  }

  private void update(int id, int kind) {
    int window = input.unsignedShort() % 4096;
    int consumed = peer.consumed(id, input.unsignedByte());
    switch (kind) {
      case 0, 1 -> {}
      case 2 -> consumed = input.integer();
      default -> window = -window;
    }
    header(4, 8, id);
    toReceive.writeIntLE(consumed).writeIntLE(window);
  }

  private void receive(int kind) {
    int cut = (kind & 1) == 0 ? 0 : Math.min(input.below(40), toReceive.readableBytes());
    ByteBuf in = ALLOCATOR.buffer().writeBytes(toReceive, toReceive.readableBytes() - cut);
    toReceive.discardReadBytes();
    long before = session.stats().unreadBytes();
    int bytes = in.readableBytes();
    peer.sending(in);
    try {
      session.receive(in, nowMs);
      peer.received();
      Check.that(!in.isReadable(), "not all was taken");
      long most = before + bytes * 256L;
      Check.that(session.stats().unreadBytes() <= most, "more unread than received");
    } catch (SmuxException e) {
      fail(e);
    } finally {
      in.release();
    }
  }

  private void fail(Exception cause) {
    session.fail(cause);
    hasFailed = true;
  }

  // This side

  private void advance(int kind) {
    nowMs += kind < 8 ? kind : 100L * kind;
    try {
      long delayMs = session.runTimers(nowMs);
      Check.that(delayMs >= 1 && delayMs <= 5000, "delay");
    } catch (SmuxException e) {
      fail(e);
    }
  }

  private void open(int kind) {
    try {
      User user = new User();
      user.stream = session.open(user, user);
      peer.opened(user.stream.id());
      users.add(user);
      user.unsent = kind * 400;
      user.stream.outputReady();
    } catch (SmuxException e) {
      Check.that(hasFailed || isFull(), e.getMessage());
    }
  }

  private boolean isFull() {
    SmuxStats stats = session.stats();
    return stats.openStreams() >= MAX_STREAMS || stats.closingStreams() >= MAX_STREAMS;
  }

  private void act(int kind) {
    if (users.isEmpty()) {
      return;
    }
    User user = users.get(input.below(users.size()));
    switch (kind & 7) {
      case 0 -> user.stream.close();
      case 1 -> {
        user.hasShutDown = true;
        user.stream.shutdownOutput();
      }
      case 2, 3 -> {
        if (!user.hasShutDown) {
          user.unsent += input.unsignedShort();
          user.stream.outputReady();
        }
      }
      case 4 -> user.unsent = 0;
      case 5 -> user.isReading = !user.isReading;
      case 6 -> user.readAll();
      default -> {
        user.stream.priority(kind >> 3);
        user.stream.weight(1 + kind);
      }
    }
  }

  private void send(int most) {
    for (int i = 0; i < most && session.hasFrame(); i++) {
      ByteBuf frame = session.nextFrame(ALLOCATOR);
      Check.that(frame != null, "no frame");
      peer.check(frame);
      frame.release();
    }
  }

  private void checkState() {
    SmuxStats stats = session.stats();
    Check.that(stats.openStreams() <= MAX_STREAMS, "open streams");
    Check.that(stats.closingStreams() <= 2 * MAX_STREAMS, "closing streams");
    Check.that(hasFailed || stats.framesOut() == peer.frames(), "frames");
    Check.that(stats.unacknowledgedBytes() >= 0 && stats.unreadBytes() >= 0, "negative");
    Check.that(
        session.isReceiveBlocked() == (stats.unreadBytes() >= MAX_RECEIVE_BUFFER), "blocked");
  }

  /** The user of a stream. */
  private static final class User implements SmuxStreamListener, SmuxStreamSource {

    SmuxStream stream;
    boolean isReading = true;
    boolean hasShutDown;
    boolean isOutputStopped;
    boolean isOutputEnded;
    boolean isOver;
    int unsent;

    void readAll() {
      for (ByteBuf data; (data = stream.read()) != null; data.release()) {
        Check.that(data.isReadable(), "empty piece");
      }
      Check.that(stream.readableBytes() == 0, "not all was read");
    }

    @Override
    public boolean isEmpty() {
      return unsent == 0;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      int bytes = Math.min(maxBytes, unsent);
      unsent -= bytes;
      return ALLOCATOR.buffer(bytes).writeZero(bytes);
    }

    @Override
    public void inputReady(SmuxStream ready) {
      Check.that(!isOver && !stream.isClosed(), "input after the end");
      Check.that(stream.readableBytes() > 0 || stream.isInputEnded(), "no input");
      if (isReading) {
        readAll();
      }
    }

    @Override
    public void outputStopped(SmuxStream stopped, SmuxException cause) {
      Check.that(!isOver && !isOutputStopped && !isOutputEnded, "stopped after the end");
      isOutputStopped = true;
    }

    @Override
    public void outputEnded(SmuxStream ended) {
      boolean isEnding = hasShutDown || isOutputStopped;
      Check.that(isEnding && !isOver && !isOutputEnded, "output has not ended");
      isOutputEnded = true;
    }

    @Override
    public void failed(SmuxStream failed, Throwable cause) {
      Check.that(!isOver && stream.isClosed(), "failed twice");
      isOver = true;
    }
  }

  private final class Listener implements SmuxSessionListener {

    @Override
    public SmuxStreamListener streamOpened(SmuxStream stream) {
      peer.opened(stream.id());
      if ((stream.id() & 7) == 7) {
        return null;
      }
      User user = new User();
      user.stream = stream;
      stream.source(user);
      users.add(user);
      return user;
    }

    @Override
    public void frameReady() {
      Check.that(session.hasFrame(), "no frame is ready");
    }

    @Override
    public void receiveReady() {
      Check.that(!session.isReceiveBlocked(), "still blocked");
    }
  }
}
