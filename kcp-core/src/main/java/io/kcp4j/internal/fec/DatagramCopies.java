package io.kcp4j.internal.fec;

import io.netty.buffer.ByteBuf;
import java.util.ArrayDeque;

/**
 * Copies of datagrams that leave later, each one or several times at equal intervals; protocol.md
 * 11.15. Owns the memory of the copies, which counts against the budget of the context; where that
 * has no room there is no copy.
 */
public final class DatagramCopies {

  /** The value of {@link #nextAtUs} if there is no copy. */
  public static final long NONE = Long.MAX_VALUE;

  /** More than leave within the longest delay at some thousand flushes per second. */
  private static final int MAX_COPIES = 512;

  private static final class Copy {
    private byte[] shard;
    private int bytes;
    private int times;
    private long atUs;
  }

  private final FecContext context;
  private final long delayUs;

  /** In the order of their times, since the delay is constant. */
  private final ArrayDeque<Copy> copies = new ArrayDeque<>();

  private final ArrayDeque<Copy> unused = new ArrayDeque<>();

  /**
   * Makes an empty queue.
   *
   * @param delayUs how much later than the datagram, or than the copy before it, a copy leaves
   */
  public DatagramCopies(FecContext context, long delayUs) {
    this.context = context;
    this.delayUs = delayUs;
  }

  /**
   * Keeps a copy of the bytes from {@code index} to {@code end}.
   *
   * @param times how often it will leave, 1 or more
   * @param nowUs the time, in microseconds
   */
  public void add(ByteBuf datagram, int index, int end, int times, long nowUs) {
    if (copies.size() == MAX_COPIES) {
      return;
    }
    int bytes = end - index;
    Copy copy = unused.isEmpty() ? new Copy() : unused.pop();
    copies.add(copy); // First, since the queue may find no memory to grow.
    copy.shard = context.acquire(bytes);
    if (copy.shard == null) {
      unused.push(copies.removeLast());
      return;
    }
    FecPacket.read(datagram, index, copy.shard, bytes);
    copy.bytes = bytes;
    copy.times = times;
    copy.atUs = nowUs + delayUs;
  }

  /** The time at which the next copy leaves, in microseconds, or {@link #NONE}. */
  public long nextAtUs() {
    return copies.isEmpty() ? NONE : copies.peek().atUs;
  }

  /** The size of the next copy, of which there is one, in bytes. */
  public int nextBytes() {
    return copies.peek().bytes;
  }

  /** Writes the next copy, of which there is one, at the writer index of {@code out}. */
  public void writeNext(ByteBuf out, long nowUs) {
    Copy copy = copies.poll();
    out.writeBytes(copy.shard, 0, copy.bytes);
    copy.times--;
    if (copy.times > 0) {
      copy.atUs = nowUs + delayUs;
      copies.add(copy);
    } else {
      release(copy);
    }
  }

  private void release(Copy copy) {
    context.release(copy.shard);
    copy.shard = null;
    unused.push(copy);
  }

  /** Drops all copies. */
  public void close() {
    copies.forEach(this::release);
    copies.clear();
    unused.clear();
  }
}
