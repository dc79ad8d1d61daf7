package io.kcp4j.smux;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;

/**
 * What has arrived for a stream and was not read, and the receive window of version 2.
 *
 * <p>Pieces are slices of the buffer in which they arrived only until the end of {@link
 * SmuxSession#receive}. What is unread then is copied, because a slice of a few bytes would keep
 * the whole buffer.
 */
final class StreamInput {

  /** What a peer assumes before the first window update, whatever our window is. */
  static final int INITIAL_WINDOW = 262_144;

  /** The most bytes of small pieces that are copied together. */
  private static final int MAX_JOINED_BYTES = 4096;

  /** Payload after our close that is let pass: a peer may end with a few last bytes. */
  private static final int MAX_LAST_BYTES = 32_768;

  /** Beyond the bytes received: makes Go's writers fail, whatever is on its way. */
  private static final int STOP_OFFSET = 1 << 30;

  /** The window that updates advertise, or 0 in version 1. */
  private final int window;

  /** A larger queue of pieces is not kept when it is empty. */
  private static final int MAX_IDLE_PIECES = 16;

  /** Null while nothing has arrived. */
  private ArrayDeque<ByteBuf> pieces;

  private boolean isQueueLarge;

  /** How many of the last pieces are slices of the buffer that is being received. */
  private int slices;

  private int readableBytes;
  private boolean hasFin;

  // Since the stream was opened.
  private long received;
  private long consumed;

  /** What the last window update has reported as consumed. */
  private long reported;

  /** How much may be received, by the most generous window update. */
  private long receivable = INITIAL_WINDOW;

  /** How much the peer may send in all, once it is known that nothing more is read. */
  private long limit = Long.MAX_VALUE;

  /** What has arrived since then, in bytes. */
  private long unwanted;

  private boolean isStopRequested;

  /** {@link ReceiveQuota#period} when the stream was last read, or its input was last empty. */
  private int readPeriod;

  StreamInput(int window) {
    this.window = window;
  }

  int readableBytes() {
    return readableBytes;
  }

  /** Whether the peer has ended its direction. */
  boolean hasFin() {
    return hasFin;
  }

  /** The peer has ended its direction. */
  void fin() {
    hasFin = true;
  }

  /** Whether everything up to the FIN has been read. */
  boolean isEnded() {
    return hasFin && readableBytes == 0;
  }

  /** Whether so many bytes more are within the window. */
  boolean admits(int bytes) {
    return window == 0 || received + bytes <= receivable;
  }

  /** Adds a piece, a slice of the buffer that is being received. */
  void add(ByteBuf piece, ReceiveQuota quota) {
    if (pieces == null) {
      pieces = new ArrayDeque<>();
    }
    if (readableBytes == 0) {
      readPeriod = quota.period();
    }
    int bytes = piece.readableBytes();
    pieces.addLast(piece);
    isQueueLarge |= pieces.size() > MAX_IDLE_PIECES;
    slices++;
    readableBytes += bytes;
    received += bytes;
    quota.charge(bytes);
  }

  /** Takes the next piece, or null. */
  ByteBuf poll(ReceiveQuota quota) {
    if (readableBytes == 0) {
      return null;
    }
    boolean isKept = pieces.size() > slices;
    ByteBuf piece = pieces.pollFirst();
    slices = Math.min(slices, pieces.size());
    if (isQueueLarge && pieces.isEmpty()) {
      pieces = null;
      isQueueLarge = false;
    }
    readPeriod = quota.period();
    int bytes = piece.readableBytes();
    readableBytes -= bytes;
    consumed += bytes;
    if (isKept) {
      quota.releaseKept(bytes);
    } else {
      quota.release(bytes);
    }
    return piece;
  }

  /** Counts bytes that have arrived after {@link #close}. */
  void discard(int bytes) {
    received += bytes;
    consumed += bytes;
    unwanted += bytes;
  }

  /** Discards all that is unread. Nothing more is read: no credit beyond one window follows. */
  void close(ReceiveQuota quota) {
    for (ByteBuf piece; (piece = poll(quota)) != null; ) {
      piece.release();
    }
    limit = Math.max(receivable, received + window);
  }

  /**
   * Whether the peer should be asked to stop: it goes on to send what nobody reads. A peer that has
   * used up its credit has sent as much.
   */
  boolean isStopDue() {
    int mostBytes = window == 0 ? MAX_LAST_BYTES : Math.min(MAX_LAST_BYTES, window / 2);
    return !hasFin && !isStopRequested && unwanted >= Math.max(1, mostBytes);
  }

  /** The peer is asked to stop: it gets no credit from now on. */
  void requestStop() {
    isStopRequested = true;
  }

  boolean isStopRequested() {
    return isStopRequested;
  }

  /**
   * Replaces slices of the buffer that was received by copies, which are counted before. Small ones
   * in a row are copied together: a buffer takes more than the few bytes that it has.
   */
  void copySlices(ByteBufAllocator allocator, ArrayDeque<ByteBuf> scratch, ReceiveQuota quota) {
    for (; slices > 0; slices--) {
      scratch.addFirst(pieces.pollLast());
    }
    while (!scratch.isEmpty()) {
      int bytes = 0;
      int chargedBytes = 0;
      for (ByteBuf slice : scratch) {
        int sliceBytes = slice.readableBytes();
        boolean isSmall = sliceBytes < ReceiveQuota.MIN_CHARGE_BYTES;
        if (bytes > 0 && (!isSmall || bytes + sliceBytes > MAX_JOINED_BYTES)) {
          break;
        }
        bytes += sliceBytes;
        chargedBytes += ReceiveQuota.chargedBytes(sliceBytes);
        if (!isSmall) {
          break;
        }
      }
      quota.keep(bytes, chargedBytes);
      pieces.addLast(join(scratch, bytes, allocator));
    }
  }

  /** A copy of the first slices, which have {@code bytes} together. */
  private static ByteBuf join(ArrayDeque<ByteBuf> slices, int bytes, ByteBufAllocator allocator) {
    ByteBuf copy;
    try {
      copy = allocator.buffer(bytes, bytes);
    } catch (RuntimeException | OutOfMemoryError e) {
      return joinWithoutCopy(slices, bytes);
    }
    while (copy.isWritable()) {
      ByteBuf slice = slices.pollFirst();
      copy.writeBytes(slice);
      slice.release();
    }
    return copy;
  }

  /** Without memory for a copy, the slices stay. */
  private static ByteBuf joinWithoutCopy(ArrayDeque<ByteBuf> slices, int bytes) {
    if (slices.getFirst().readableBytes() == bytes) {
      return slices.pollFirst();
    }
    CompositeByteBuf joined = Unpooled.compositeBuffer(bytes);
    while (joined.readableBytes() < bytes) {
      joined.addComponent(true, slices.pollFirst());
    }
    return joined;
  }

  /** Whether a stream was not read since the period began. */
  boolean isStalled(int period) {
    return readableBytes > 0 && readPeriod != period;
  }

  /**
   * Whether to report what was consumed in any case: after the first read and then after each half
   * of the window, as Go's smux does; and when the end has been reached, so that the peer does not
   * count the rest as unread.
   */
  boolean isUpdateDue() {
    if (window == 0 || consumed == reported) {
      return false;
    }
    return hasFin ? readableBytes == 0 : reported == 0 || consumed - reported >= window / 2;
  }

  /** What was consumed and not reported, in bytes; 0 in version 1. */
  int unreportedBytes() {
    return window == 0 ? 0 : (int) (consumed - reported);
  }

  /** Whether anything was reported. */
  boolean isReported() {
    return reported > 0;
  }

  /** Writes the payload of a window update. */
  void writeUpdate(ByteBuf out) {
    int advertised = (int) Math.max(0, Math.min(window, limit - consumed));
    out.writeIntLE((int) consumed).writeIntLE(advertised);
    reported = consumed;
    receivable = Math.max(receivable, consumed + advertised);
  }

  /** Writes the payload of the window update that asks the peer to stop. */
  void writeStop(ByteBuf out) {
    out.writeIntLE((int) received + STOP_OFFSET).writeIntLE(0);
  }
}
