package io.kcp4j.smux;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayDeque;
import java.util.function.Consumer;

/**
 * The frames without payload that wait to be sent: at most one NOP, and of each stream one SYN, one
 * UPD, one FIN and one that asks the peer to stop, in this order. Their contents are those of the
 * time at which they leave, so there are never more, whatever peers do.
 */
final class ControlFrames {

  static final int SYN = 1;
  static final int UPD = 2;
  static final int FIN = 4;

  /** Asks the peer to stop sending: in version 1 a second FIN, in version 2 a UPD. */
  static final int STOP = 8;

  private final int version;
  private final ArrayDeque<SmuxStream> streams = new ArrayDeque<>();
  private final Consumer<SmuxStream> finSent;
  private final Consumer<SmuxStream> updateSent;
  private boolean hasNop;

  /**
   * Without frames at first.
   *
   * @param finSent is told when a FIN leaves
   * @param updateSent is told when a UPD leaves
   */
  ControlFrames(int version, Consumer<SmuxStream> finSent, Consumer<SmuxStream> updateSent) {
    this.version = version;
    this.finSent = finSent;
    this.updateSent = updateSent;
  }

  void addNop() {
    hasNop = true;
  }

  /** Adds a frame of a stream, if it does not wait already. */
  void add(SmuxStream stream, int frame) {
    if (stream.pendingControl == 0) {
      streams.addLast(stream);
    }
    stream.pendingControl |= frame;
  }

  /** A frame is not needed any more. */
  void cancel(SmuxStream stream, int frame) {
    stream.pendingControl &= ~frame;
  }

  boolean isEmpty() {
    while (!streams.isEmpty() && streams.peekFirst().pendingControl == 0) {
      streams.pollFirst(); // All its frames were cancelled.
    }
    return streams.isEmpty() && !hasNop;
  }

  void clear() {
    streams.clear();
    hasNop = false;
  }

  /** Takes the next frame. To be called only if not {@link #isEmpty}. */
  ByteBuf next(ByteBufAllocator allocator) {
    ByteBuf frame = allocator.buffer(FrameHeader.BYTES + FrameHeader.UPD_BYTES);
    if (hasNop) {
      hasNop = false;
      FrameHeader.write(frame, version, FrameHeader.NOP, 0, FrameHeader.NO_STREAM);
      return frame;
    }
    SmuxStream stream = streams.peekFirst();
    int kind = takeKind(stream);
    switch (kind) {
      case SYN -> FrameHeader.write(frame, version, FrameHeader.SYN, 0, stream.id());
      case UPD -> {
        FrameHeader.write(frame, version, FrameHeader.UPD, FrameHeader.UPD_BYTES, stream.id());
        stream.input.writeUpdate(frame);
        updateSent.accept(stream);
      }
      case STOP -> writeStop(stream, frame);
      default -> {
        FrameHeader.write(frame, version, FrameHeader.FIN, 0, stream.id());
        finSent.accept(stream);
      }
    }
    return frame;
  }

  private void writeStop(SmuxStream stream, ByteBuf frame) {
    if (version == 1) {
      FrameHeader.write(frame, version, FrameHeader.FIN, 0, stream.id());
    } else {
      FrameHeader.write(frame, version, FrameHeader.UPD, FrameHeader.UPD_BYTES, stream.id());
      stream.input.writeStop(frame);
    }
  }

  private int takeKind(SmuxStream stream) {
    if ((stream.pendingControl & FIN) != 0 && stream.input.hasFin()) {
      // With this FIN the stream is over, and the peer keeps no account of it.
      stream.pendingControl &= ~UPD;
    }
    int kind = Integer.lowestOneBit(stream.pendingControl);
    stream.pendingControl &= ~kind;
    if (stream.pendingControl == 0) {
      streams.pollFirst();
    }
    return kind;
  }
}
