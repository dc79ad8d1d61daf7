package io.kcp4j.fec;

import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.Objects;

/**
 * Numbers the datagrams that a session sends and makes parity for them: protocol.md 11.2 to 11.4.
 *
 * <p>Datagrams are taken in groups as they come. A copy of each is kept until its group is full;
 * then parity is computed over the whole group at once, and all copies are released. Between groups
 * nothing is held. The last datagram of a group is never copied.
 *
 * <p>Where the memory budget has no room for a copy, the group goes without parity. To the peer
 * that looks like a group after a gap: the numbers of its parity are used up all the same.
 *
 * <p>Used by one thread. Buffers handed in stay the caller's.
 */
@Unstable
public final class FecEncoder {

  /** More packets than any receiver looks back or ahead. */
  private static final int SUCCESSOR_DISTANCE = 4096;

  /** Serial numbers compare only over less than 2^31. */
  private static final long MAX_AHEAD = (1L << 31) - 65_536;

  /** A period of what is looked for is 34 million numbers at least. */
  private static final int AHEAD_STEP = 1 << 20;

  /** More packets than kcp-go's receiver remembers when it looks for the ratio: 258. */
  private static final int RECEIVER_HISTORY = 1024;

  private final FecConfig config;
  private final FecContext context;
  private final int dataShards;
  private final int parityShards;

  /** Sequence numbers run modulo this, a multiple of the group's size. */
  private final long paws;

  private long next;
  private int count;
  private int longest;
  private boolean isUnprotected;
  private boolean isClosed;
  private boolean hasSent;
  private long sentAtMs;

  private byte[][] kept;
  private char[] lengths;
  private int heldBytes;

  private ShardCodec codec;
  private long firstParity;
  private int parityBytes;

  /**
   * Makes an encoder whose first sequence number is 0.
   *
   * @param config one that encodes
   * @param context what the thread's encoders share
   */
  public FecEncoder(FecConfig config, FecContext context) {
    this(config, context, 0);
  }

  /**
   * Makes an encoder with other settings that takes over from this one, which is closed, or has
   * been. Sequence numbers go on at some distance, so that no receiver can take the packets of one
   * encoder for those of the other: protocol.md 11.12.
   *
   * @param config one that encodes
   * @throws IllegalArgumentException if it does not encode
   * @throws IllegalStateException if too few sequence numbers are left before they would begin
   *     anew; nothing has changed then
   */
  public FecEncoder successor(FecConfig config) {
    checkEncodes(config);
    FecEncoder successor = new FecEncoder(config, context, successorSeqid(config.shards()));
    close();
    return successor;
  }

  /**
   * Makes sure that {@link #successor} can be had.
   *
   * @throws IllegalStateException if it cannot
   */
  public void checkSuccessor(FecConfig config) {
    successorSeqid(config.shards());
  }

  /**
   * Where groups of another size begin: the first number from which kcp-go's receiver would go on,
   * or, if there is none, the first that is far enough ahead.
   */
  private long successorSeqid(int shards) {
    long newPaws = FecPacket.paws(shards);
    for (long ahead = SUCCESSOR_DISTANCE; ahead < MAX_AHEAD; ahead += AHEAD_STEP) {
      long seqid = roundUp(next + ahead, shards);
      long wrapped = seqid < newPaws ? seqid : seqid - newPaws;
      if (isFollowed(wrapped, shards) && isFollowed(wrapped + RECEIVER_HISTORY, shards)) {
        return wrapped;
      }
    }
    long seqid = roundUp(next + SUCCESSOR_DISTANCE, shards);
    if (seqid >= newPaws) {
      throw new IllegalStateException(
          "shards: "
              + shards
              + " (expected: "
              + config.shards()
              + " as before, until sequence numbers have begun anew)");
    }
    return seqid;
  }

  /**
   * Whether kcp-go's receiver takes a group of {@code shards} that begins at a sequence number for
   * a new one. It keeps the number of the newest group when it finds another ratio; and until it
   * does it may read new packets by the old ratio, where groups have other numbers: protocol.md
   * 11.12. It computes modulo 2^32.
   */
  private boolean isFollowed(long seqid, int shards) {
    int group = (int) (seqid / shards);
    int newest = (int) (next / config.shards());
    int misread = (int) (seqid / config.shards());
    return (group - newest) * shards > 0 && (group - misread) * shards >= 0;
  }

  private static long roundUp(long seqid, int shards) {
    return (seqid + shards - 1) / shards * shards;
  }

  /** Makes an encoder with another first sequence number, a multiple of the group's size. */
  FecEncoder(FecConfig config, FecContext context, long firstSeqid) {
    checkEncodes(config);
    this.config = config;
    this.context = Objects.requireNonNull(context, "context");
    dataShards = config.dataShards();
    parityShards = config.parityShards();
    paws = FecPacket.paws(config.shards());
    assert firstSeqid % config.shards() == 0 && firstSeqid < paws : firstSeqid;
    next = firstSeqid;
  }

  private static void checkEncodes(FecConfig config) {
    if (!config.isEncoding()) {
      throw new IllegalArgumentException("config: " + config + " (expected: one that encodes)");
    }
  }

  /**
   * Fills in the header of a data packet, and keeps a copy of what follows it until the group is
   * full.
   *
   * @param buf the packet; neither its indices nor its reference count change
   * @param headerIndex where the header's {@value FecPacket#DATA_HEADER_BYTES} bytes begin
   * @param end where the payload behind it ends
   * @param nowMs the time
   * @return how many parity packets have to follow now: 0, or the configured number
   * @throws IllegalArgumentException if the payload is longer than the header can tell
   */
  public int protect(ByteBuf buf, int headerIndex, int end, long nowMs) {
    FecPacket.write(buf, headerIndex, end, (int) next, FecPacket.DATA);
    advance(1);
    int index = headerIndex + FecPacket.HEADER_BYTES;
    longest = Math.max(longest, end - index);
    boolean isAfterGap = isAfterGap(nowMs);
    hasSent = true;
    sentAtMs = nowMs;
    count++;
    if (count < dataShards) {
      keep(buf, index, end - index);
      return 0;
    }
    return endGroup(buf, index, end - index, isAfterGap);
  }

  /** Whether the datagram that leaves now comes after a gap; the first of all does. */
  private boolean isAfterGap(long nowMs) {
    int gapMs = config.parityGapMs();
    return gapMs > 0 && (!hasSent || nowMs - sentAtMs >= gapMs);
  }

  private void keep(ByteBuf buf, int index, int bytes) {
    if (isUnprotected) {
      return;
    }
    byte[] copy = context.acquire(bytes);
    if (copy == null) {
      dropGroup();
      return;
    }
    if (kept == null) {
      kept = new byte[dataShards - 1][];
      lengths = new char[dataShards - 1];
    }
    FecPacket.read(buf, index, copy, bytes);
    kept[count - 1] = copy;
    lengths[count - 1] = (char) bytes;
    heldBytes += copy.length;
  }

  private int endGroup(ByteBuf buf, int index, int bytes, boolean isAfterGap) {
    boolean isSent = !isAfterGap && !isUnprotected;
    if (isSent) {
      encode(buf, index, bytes);
    }
    firstParity = next;
    parityBytes = isSent ? FecPacket.HEADER_BYTES + longest : 0;
    advance(parityShards);
    release();
    count = 0;
    longest = 0;
    isUnprotected = isClosed;
    return isSent ? parityShards : 0;
  }

  private void encode(ByteBuf buf, int index, int bytes) {
    if (codec == null) {
      codec = context.codec(dataShards, parityShards);
    }
    codec.begin(this, longest);
    for (int i = 0; i < dataShards - 1; i++) {
      codec.load(i, kept[i], lengths[i]);
    }
    byte[] last = context.staging(bytes);
    FecPacket.read(buf, index, last, bytes);
    codec.load(dataShards - 1, last, bytes);
    codec.encode();
  }

  private void advance(int packets) {
    next = (next + packets) % paws;
  }

  /**
   * The length of each parity packet of the group just ended, header included, in bytes; 0 if it
   * has none.
   */
  public int parityBytes() {
    return parityBytes;
  }

  /**
   * Writes a parity packet of the group just ended. To be called before anything else is done with
   * an encoder or decoder of the same context.
   *
   * @param i which: 0 to the configured number less 1
   * @param out where to, at its writer index
   * @throws IllegalStateException if there is none, or it is gone
   */
  public void writeParity(int i, ByteBuf out) {
    if (i < 0 || i >= parityShards) {
      throw new IllegalArgumentException(
          "i: " + i + " (expected: 0 to " + (parityShards - 1) + ")");
    }
    if (parityBytes == 0 || !codec.isOwnedBy(this)) {
      throw new IllegalStateException("no parity, or no longer");
    }
    out.writeIntLE((int) (firstParity + i));
    out.writeShortLE(FecPacket.PARITY);
    out.writeBytes(codec.bytes(dataShards + i), 0, parityBytes - FecPacket.HEADER_BYTES);
  }

  /** The bytes that are held for the unfinished group, by capacity. */
  public int heldBytes() {
    return heldBytes;
  }

  /**
   * Gives up the copies of the unfinished group, which then gets no parity: for sessions that have
   * been idle for so long that nobody waits for it.
   */
  public void dropGroup() {
    isUnprotected |= count > 0;
    release();
    kept = null;
    lengths = null;
  }

  private void release() {
    if (heldBytes == 0) {
      return;
    }
    for (byte[] copy : kept) {
      if (copy != null) {
        context.release(copy);
      }
    }
    Arrays.fill(kept, null);
    heldBytes = 0;
  }

  /** Releases everything. What is still sent afterwards is numbered, and gets no parity. */
  public void close() {
    dropGroup();
    isClosed = true;
    isUnprotected = true;
  }
}
