package io.kcp4j.fuzz;

import io.kcp4j.smux.SmuxSession;
import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;

/**
 * What the peer of a smux session knows: which window updates it has sent, read from the bytes
 * apart from the session, and what it has received. Checks every frame against that.
 */
final class SmuxPeerModel {

  private static final int INITIAL_WINDOW = 262_144;

  /** A stream, as far as it sends to the peer. */
  private static final class Stream {

    boolean isOpen = true;
    int received;
    int consumed;
    int window = INITIAL_WINDOW;
    boolean isReported;

    int outstanding() {
      return received - consumed;
    }

    void update(int newConsumed, int newWindow) {
      int more = newConsumed - consumed;
      if (more >= 0 && more <= outstanding() && newWindow >= 0) {
        consumed = newConsumed;
        window = newWindow;
        isReported = true;
      }
    }

    /** Of what is outstanding, what the peer must have unread. */
    int surelyUnread() {
      return outstanding() - (isReported ? Math.max(0, window / 2 - 1) : 0);
    }
  }

  private record Update(long frame, int id, int consumed, int window) {}

  private final SmuxSession session;
  private final int version;
  private final int sharedBudget;
  private final int budgetShare;
  private final ByteBuf wire;
  private final Map<Integer, Stream> streams = new HashMap<>();
  private final ArrayDeque<Update> updates = new ArrayDeque<>();
  private long wireFrames;
  private int payloadLeft;
  private long frames;

  /**
   * Makes a model.
   *
   * @param receiveBuffer the peer's receive buffer
   * @param maxStreams the most streams that are open or closing
   * @param wire an empty buffer, which the model releases
   */
  SmuxPeerModel(SmuxSession session, int receiveBuffer, int maxStreams, ByteBuf wire) {
    this.session = session;
    this.wire = wire;
    version = session.config().version();
    budgetShare = receiveBuffer / 4 / maxStreams;
    sharedBudget = receiveBuffer - 1 - budgetShare * maxStreams;
  }

  void release() {
    wire.release();
  }

  /** Frames that the session has sent. */
  long frames() {
    return frames;
  }

  /** The session is about to receive this. */
  void sending(ByteBuf in) {
    wire.writeBytes(in, in.readerIndex(), in.readableBytes());
    while (true) {
      int skipped = Math.min(payloadLeft, wire.readableBytes());
      payloadLeft -= skipped;
      wire.skipBytes(skipped);
      if (wire.readableBytes() < 8) {
        break;
      }
      int at = wire.readerIndex();
      boolean isUpdate = wire.getByte(at + 1) == 4;
      if (isUpdate && wire.readableBytes() < 16) {
        break;
      }
      wireFrames++;
      wire.skipBytes(isUpdate ? 16 : 8);
      if (isUpdate) {
        int id = wire.getIntLE(at + 4);
        updates.add(new Update(wireFrames, id, wire.getIntLE(at + 8), wire.getIntLE(at + 12)));
      } else if (wire.getByte(at + 1) == 2) {
        payloadLeft = wire.getUnsignedShortLE(at + 2);
      }
    }
    wire.discardReadBytes();
  }

  /** The session has received all that was sent. */
  void received() {
    apply(Long.MAX_VALUE);
  }

  /** The session begins a stream, and has taken all updates before. */
  void opened(int id) {
    apply(session.stats().framesIn());
    streams.put(id, new Stream());
  }

  private void apply(long beforeFrame) {
    while (!updates.isEmpty() && updates.peek().frame < beforeFrame) {
      Update update = updates.poll();
      Stream stream = streams.get(update.id);
      if (stream != null) {
        stream.update(update.consumed, update.window);
      }
    }
  }

  /** A total that the peer may report of a stream: true for 0 to 255, false for others. */
  int consumed(int id, int share) {
    Stream stream = streams.computeIfAbsent(id, key -> new Stream());
    return stream.consumed + (int) ((long) stream.outstanding() * share / 255);
  }

  /** A frame of the session. */
  void check(ByteBuf frame) {
    frames++;
    Check.that(frame.readByte() == version, "version");
    int command = frame.readByte();
    int length = frame.readUnsignedShortLE();
    int id = frame.readIntLE();
    Check.that(length == frame.readableBytes(), "length");
    switch (command) {
      case 0 -> Check.that(length == 0 && streams.get(id).received == 0, "SYN");
      case 1 -> {
        Check.that(length == 0, "FIN");
        streams.computeIfAbsent(id, key -> new Stream()).isOpen = false;
      }
      case 2 -> checkData(streams.get(id), length);
      case 3 -> Check.that(length == 0 && id == 0, "NOP");
      case 4 -> Check.that(length == 8 && version == 2, "UPD");
      default -> Check.that(false, "command " + command);
    }
  }

  private void checkData(Stream stream, int length) {
    Check.that(length > 0, "empty frame");
    Check.that(stream != null && stream.isOpen, "data before SYN or after FIN");
    stream.received += length;
    if (version == 1) {
      return;
    }
    Check.that(stream.outstanding() <= stream.window, "beyond the window");
    long all = session.stats().unacknowledgedBytes();
    Check.that(
        all <= sharedBudget || stream.surelyUnread() <= budgetShare,
        "beyond the budget: " + all + ", " + stream.surelyUnread());
  }
}
