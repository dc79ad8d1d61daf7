package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.netty.internal.ConnectionMemory;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** A {@link SmuxSession} in virtual time whose peer is the test. */
final class DrivenSmux implements SmuxSessionListener {

  final UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false, true);
  final SmuxSession session;

  /** The users of the streams that the peer has opened. */
  final List<TestStream> accepted = new ArrayList<>();

  /** Makes the users of the peer's streams. */
  Supplier<TestStream> users = TestStream::new;

  boolean isRefusing;
  Runnable onFrameReady = () -> {};
  long nowMs = 5;
  int frameReadyCalls;
  int receiveReadyCalls;

  private final int version;

  DrivenSmux(SmuxConfig.Builder config, boolean client) {
    this(config.build(), client);
  }

  DrivenSmux(SmuxConfig config, boolean client) {
    this(config, client, ConnectionMemory.UNLIMITED);
  }

  DrivenSmux(SmuxConfig config, boolean client, ConnectionMemory memory) {
    session = new SmuxSession(config, client, this, memory, nowMs);
    version = config.version();
  }

  /** The defaults without keep-alive. */
  static SmuxConfig.Builder config() {
    return SmuxConfig.builder().keepAliveMs(0).keepAliveTimeoutMs(0);
  }

  static DrivenSmux client() {
    return new DrivenSmux(config(), true);
  }

  static DrivenSmux server() {
    return new DrivenSmux(config(), false);
  }

  @Override
  public SmuxStreamListener streamOpened(SmuxStream stream) {
    if (isRefusing) {
      return null;
    }
    TestStream user = users.get();
    user.stream = stream;
    stream.source(user);
    accepted.add(user);
    return user;
  }

  @Override
  public void frameReady() {
    frameReadyCalls++;
    onFrameReady.run();
  }

  @Override
  public void receiveReady() {
    receiveReadyCalls++;
  }

  TestStream open() throws SmuxException {
    TestStream user = new TestStream();
    user.stream = session.open(user, user);
    return user;
  }

  // The peer's frames

  private ByteBuf frame(int command, int id, int length) {
    return Unpooled.buffer(8)
        .writeByte(version)
        .writeByte(command)
        .writeShortLE(length)
        .writeIntLE(id);
  }

  ByteBuf syn(int id) {
    return frame(0, id, 0);
  }

  ByteBuf fin(int id) {
    return frame(1, id, 0);
  }

  ByteBuf psh(int id, int length) {
    return psh(id, new byte[length]);
  }

  ByteBuf psh(int id, byte[] payload) {
    return frame(2, id, payload.length).writeBytes(payload);
  }

  ByteBuf nop() {
    return frame(3, 0, 0);
  }

  ByteBuf upd(int id, int consumed, int window) {
    return frame(4, id, 8).writeIntLE(consumed).writeIntLE(window);
  }

  /** Receives these frames at once. */
  void receive(ByteBuf... frames) throws SmuxException {
    ByteBuf in = allocator.buffer();
    for (ByteBuf frame : frames) {
      in.writeBytes(frame);
    }
    try {
      session.receive(in, nowMs);
      assertEquals(0, in.readableBytes());
    } finally {
      in.release();
    }
  }

  /** Receives data of a stream in frames of the given size. */
  void receiveData(int id, int bytes, int frameBytes) throws SmuxException {
    for (int left = bytes; left > 0; left -= frameBytes) {
      receive(psh(id, Math.min(left, frameBytes)));
    }
  }

  // What is sent

  /** The next frame in words, or null. */
  String next() {
    ByteBuf frame = session.nextFrame(allocator);
    if (frame == null) {
      return null;
    }
    try {
      return describe(frame);
    } finally {
      frame.release();
    }
  }

  private String describe(ByteBuf frame) {
    assertEquals(version, frame.readByte());
    int command = frame.readByte();
    int length = frame.readUnsignedShortLE();
    String id = Integer.toUnsignedString(frame.readIntLE());
    assertEquals(length, frame.readableBytes());
    return switch (command) {
      case 0 -> "SYN " + id;
      case 1 -> "FIN " + id;
      case 2 -> "PSH " + id + " " + length;
      case 3 -> "NOP";
      case 4 -> "UPD " + id + " " + frame.readIntLE() + " " + frame.readIntLE();
      default -> throw new AssertionError("command " + command);
    };
  }

  /** All frames that there are. */
  List<String> sent() {
    List<String> frames = new ArrayList<>();
    while (session.hasFrame()) {
      frames.add(next());
    }
    assertEquals(null, next());
    return frames;
  }

  /** How much payload of a stream leaves now, in bytes. */
  int sentBytes(SmuxStream stream) {
    String prefix = "PSH " + stream.id() + " ";
    return sent().stream()
        .filter(frame -> frame.startsWith(prefix))
        .mapToInt(frame -> Integer.parseInt(frame.substring(prefix.length())))
        .sum();
  }

  /** Lets time pass, and runs timers when they ask for it. */
  void runFor(long ms) throws SmuxException {
    long untilMs = nowMs + ms;
    while (true) {
      long delayMs = session.runTimers(nowMs);
      if (nowMs + delayMs > untilMs) {
        break;
      }
      nowMs += delayMs;
    }
    nowMs = untilMs;
    session.runTimers(nowMs);
  }

  void assertNothingHeld() {
    SmuxStats stats = session.stats();
    assertEquals(0, stats.unreadBytes(), "unread");
    assertEquals(0, stats.unacknowledgedBytes(), "unacknowledged");
    assertEquals(0, allocator.metric().usedHeapMemory(), "memory");
  }
}
