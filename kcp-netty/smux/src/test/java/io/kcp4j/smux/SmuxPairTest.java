package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two sessions that send each other what random users write, over connections that cut the bytes
 * anywhere and stop at times. One seed determines a run.
 */
class SmuxPairTest {

  private static final int STEPS = 4_000;

  static IntStream seeds() {
    return IntStream.rangeClosed(1, 12);
  }

  static IntStream moreSeeds() {
    return IntStream.rangeClosed(13, 60);
  }

  /** What the n-th byte of a stream's direction is. */
  private static byte byteAt(int id, boolean isFromOpener, int n) {
    return (byte) (n * 31 + n / 250 + id * 7 + (isFromOpener ? 1 : 0));
  }

  /** One end of a stream. */
  private final class User implements SmuxStreamListener, SmuxStreamSource {

    final boolean isOpener;
    SmuxStream stream;
    int toSend;
    int sent;
    int received;
    boolean isReading;
    boolean hasShutDown;
    boolean isOutputStopped;
    boolean isOutputEnded;

    User(boolean isOpener) {
      this.isOpener = isOpener;
      isReading = random.nextInt(4) > 0;
    }

    void write(int bytes) {
      if (!hasShutDown) {
        toSend += bytes;
        stream.outputReady();
      }
    }

    void shutDown() {
      hasShutDown = true;
      stream.shutdownOutput();
    }

    void read() {
      for (ByteBuf data; isReading && (data = stream.read()) != null; data.release()) {
        while (data.isReadable()) {
          assertEquals(byteAt(stream.id(), !isOpener, received++), data.readByte());
        }
        if (!isFinishing && random.nextInt(50) == 0) {
          isReading = false;
        }
      }
    }

    boolean isDone() {
      return stream.isClosed() || (isOutputEnded && stream.isInputEnded());
    }

    @Override
    public boolean isEmpty() {
      return sent == toSend;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      int bytes = 1 + random.nextInt(Math.min(maxBytes, toSend - sent));
      ByteBuf data = memory.buffer(bytes);
      for (int i = 0; i < bytes; i++) {
        data.writeByte(byteAt(stream.id(), isOpener, sent++));
      }
      return data;
    }

    @Override
    public void inputReady(SmuxStream ready) {
      read();
    }

    @Override
    public void outputStopped(SmuxStream stopped, SmuxException cause) {
      hasShutDown = true;
      isOutputStopped = true;
    }

    @Override
    public void outputEnded(SmuxStream ended) {
      assertTrue(isOutputStopped || toSend == sent);
      isOutputEnded = true;
    }

    @Override
    public void failed(SmuxStream failed, Throwable cause) {
      throw new AssertionError(cause);
    }
  }

  /** One side of the connection. */
  private final class Side implements SmuxSessionListener {

    final SmuxSession session;
    final List<User> users = new ArrayList<>();
    final ByteBuf onTheWay = memory.buffer();
    boolean isFrameReady;
    Side peer;

    Side(SmuxConfig config, boolean client) {
      session = new SmuxSession(config, client, this, nowMs);
    }

    @Override
    public SmuxStreamListener streamOpened(SmuxStream stream) {
      return attach(stream, new User(false));
    }

    private User attach(SmuxStream stream, User user) {
      user.stream = stream;
      stream.source(user);
      users.add(user);
      return user;
    }

    @Override
    public void frameReady() {
      assertTrue(session.hasFrame());
      isFrameReady = true;
    }

    @Override
    public void receiveReady() {}

    void open() throws SmuxException {
      User user = new User(true);
      attach(session.open(user, user), user);
    }

    /** Lets the connection take some frames. */
    void send(int frames) {
      assertTrue(isFrameReady || !session.hasFrame(), "the driver was not told");
      for (int i = 0; i < frames && session.hasFrame(); i++) {
        ByteBuf frame = session.nextFrame(memory);
        onTheWay.writeBytes(frame);
        frame.release();
      }
      isFrameReady = session.hasFrame();
    }

    /** Lets the peer receive some of what is on the way. */
    void deliver(int bytes) throws SmuxException {
      if (peer.session.isReceiveBlocked()) {
        return;
      }
      ByteBuf in = memory.buffer();
      in.writeBytes(onTheWay, Math.min(bytes, onTheWay.readableBytes()));
      onTheWay.discardReadBytes();
      peer.session.receive(in, nowMs);
      in.release();
    }
  }

  private final UnpooledByteBufAllocator memory = new UnpooledByteBufAllocator(false, true);
  private SplittableRandom random;
  private long nowMs;
  private boolean isFinishing;
  private Side a;
  private Side b;

  private SmuxConfig config(int version) {
    int receiveBuffer = 1 << (12 + random.nextInt(11));
    int streamBuffer = Math.min(receiveBuffer, 1 << (5 + random.nextInt(17)));
    return DrivenSmux.config()
        .version(version)
        .maxFrameSize(1 << random.nextInt(16))
        .maxReceiveBuffer(receiveBuffer)
        .maxStreamBuffer(streamBuffer)
        .peerReceiveBuffer(1 << (8 + random.nextInt(15)))
        .stalledStreamMs(1_000_000)
        .build();
  }

  @Tag("slow")
  @ParameterizedTest
  @MethodSource("moreSeeds")
  void everyByteArrivesOnceWithMoreSeeds(int seed) throws SmuxException {
    everyByteArrivesOnceAndNothingIsLeft(seed);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void everyByteArrivesOnceAndNothingIsLeft(int seed) throws SmuxException {
    random = new SplittableRandom(seed);
    int version = 1 + random.nextInt(2);
    a = new Side(config(version), true);
    b = new Side(config(version), false);
    a.peer = b;
    b.peer = a;
    for (int step = 0; step < STEPS; step++) {
      act(random.nextBoolean() ? a : b);
    }
    finish();
    checkStreams();
    for (Side side : List.of(a, b)) {
      SmuxStats stats = side.session.stats();
      assertEquals(0, stats.openStreams());
      assertEquals(0, stats.closingStreams());
      assertEquals(0, stats.unreadBytes());
      assertEquals(0, stats.unacknowledgedBytes());
      assertEquals(0, stats.violations());
      assertEquals(0, stats.cutStreams());
      assertNotEquals(0, stats.framesIn());
      assertNull(side.session.nextFrame(memory));
      side.onTheWay.release();
    }
    assertEquals(0, memory.metric().usedHeapMemory() + memory.metric().usedDirectMemory());
  }

  private void act(Side side) throws SmuxException {
    nowMs += random.nextInt(3);
    User user = side.users.isEmpty() ? null : side.users.get(random.nextInt(side.users.size()));
    switch (random.nextInt(12)) {
      case 0 -> {
        if (side.users.size() < 30) {
          side.open();
        }
      }
      case 1 -> {
        if (user != null) {
          user.write(1 << random.nextInt(17));
        }
      }
      case 2 -> {
        if (user != null) {
          user.isReading = !user.isReading;
          user.read();
        }
      }
      case 3 -> end(user);
      case 4 -> {
        if (user != null) {
          user.stream.priority(random.nextInt(8));
          user.stream.weight(1 + random.nextInt(256));
        }
      }
      case 5 -> side.session.runTimers(nowMs);
      case 6, 7, 8 -> side.send(random.nextInt(20));
      default -> side.deliver(random.nextInt(1 << random.nextInt(17)));
    }
  }

  private void end(User user) {
    if (user == null || random.nextInt(4) > 0) {
      return;
    }
    if (random.nextInt(4) == 0) {
      user.stream.close();
    } else {
      user.shutDown();
    }
  }

  /** Everybody reads, and ends. */
  private void finish() throws SmuxException {
    isFinishing = true;
    List<User> all = new ArrayList<>();
    for (int round = 0; ; round++) {
      assertTrue(round < 200_000, "stuck");
      all.clear();
      all.addAll(a.users);
      all.addAll(b.users);
      for (User user : all) {
        if (!user.hasShutDown) {
          user.shutDown();
        }
        user.isReading = true;
        user.read();
      }
      for (Side side : List.of(a, b)) {
        side.send(Integer.MAX_VALUE);
        side.deliver(Integer.MAX_VALUE);
      }
      boolean isQuiet =
          a.onTheWay.readableBytes() + b.onTheWay.readableBytes() == 0
              && a.users.size() + b.users.size() == all.size();
      if (isQuiet && !a.session.hasFrame() && !b.session.hasFrame()) {
        break;
      }
    }
    all.forEach(user -> assertTrue(user.isDone(), user.stream + " is not done"));
  }

  /** What one end has sent has arrived at the other, unless one of them has closed. */
  private void checkStreams() {
    for (User opener : a.users) {
      checkStream(opener, b);
    }
    for (User opener : b.users) {
      checkStream(opener, a);
    }
  }

  private static void checkStream(User opener, Side peerSide) {
    if (!opener.isOpener) {
      return;
    }
    User other =
        peerSide.users.stream()
            .filter(user -> !user.isOpener && user.stream.id() == opener.stream.id())
            .findFirst()
            .orElseThrow();
    if (!opener.stream.isClosed() && !other.stream.isClosed()) {
      assertEquals(opener.toSend, other.received);
      assertEquals(other.toSend, opener.received);
    }
  }
}
