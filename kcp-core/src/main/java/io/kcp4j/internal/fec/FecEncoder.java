package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.Objects;

/**
 * FEC encoding: numbers the datagrams of a session and computes their parity; protocol.md 11.2 to
 * 11.4.
 *
 * <p>Consecutive datagrams form a group. A copy of each is kept until the group is full; then
 * parity is computed over the whole group at once, and all copies are released. Between groups the
 * encoder holds no memory. Of the last datagram of a group no copy is kept.
 *
 * <p>Where the memory budget does not allow a copy, the group gets no parity. To the peer this
 * looks like a group after a gap: the sequence numbers of its parity are skipped.
 *
 * <p>Used by one thread. The caller keeps the ownership of buffers.
 */
public final class FecEncoder {

  /**
   * As in kcp-go, whose sessions use 500 ms: after such a gap the ARQ has recovered from a loss.
   */
  private static final int PARITY_GAP_US = 500_000;

  /** More packets than the window of any receiver. */
  private static final int SUCCESSOR_DISTANCE = 4096;

  /** Serial numbers compare only over less than 2^31. */
  private static final long MAX_AHEAD = (1L << 31) - 65_536;

  /** The suitable numbers recur with a period of at least 34 million. */
  private static final int AHEAD_STEP = 1 << 20;

  /** More than the 258 packets that the receiver of kcp-go keeps to detect the ratio. */
  private static final int RECEIVER_HISTORY = 1024;

  /** The number of sent sequence numbers that {@link #isOwn} recognises. */
  private static final int RECOGNISED = 1 << 20;

  private final FecConfig config;
  private final FecContext context;
  private final int dataShards;
  private final int parityShards;

  /** The modulus of sequence numbers, a multiple of the group size. */
  private final long paws;

  private long next;
  private int count;
  private int longest;
  private boolean isUnprotected;
  private boolean isClosed;
  private boolean hasSent;
  private long sentAtUs;

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
   * @param context shared by the encoders of a thread
   */
  public FecEncoder(FecConfig config, FecContext context) {
    this(config, context, 0);
  }

  /**
   * Makes an encoder whose first sequence number is at least {@code seqid}.
   *
   * @param config one that encodes
   * @param context shared by the encoders of a thread
   */
  public static FecEncoder from(int seqid, FecConfig config, FecContext context) {
    checkEncodes(config);
    return new FecEncoder(config, context, roundUp(seqid, config.shards()));
  }

  /**
   * Closes this encoder and makes one with other settings that continues its stream. The sequence
   * numbers skip a distance, so that no receiver mistakes packets of one encoder for those of the
   * other; protocol.md 11.12.
   *
   * @param config one that encodes
   * @throws IllegalArgumentException if it does not encode
   * @throws IllegalStateException if too few sequence numbers are left before they wrap; nothing
   *     has changed then
   */
  public FecEncoder successor(FecConfig config) {
    checkEncodes(config);
    FecEncoder successor = new FecEncoder(config, context, successorSeqid(config.shards()));
    close();
    return successor;
  }

  /**
   * Checks that {@link #successor} is possible.
   *
   * @throws IllegalStateException if it cannot
   */
  public void checkSuccessor(FecConfig config) {
    successorSeqid(config.shards());
  }

  /**
   * The first sequence number of groups of another size: the first one that the receiver of kcp-go
   * would follow or, if there is none, the first that is far enough ahead.
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
              + " as before, until sequence numbers have wrapped)");
    }
    return seqid;
  }

  /**
   * Whether the receiver of kcp-go treats a group of {@code shards} that begins at a sequence
   * number as a new one. It keeps the number of the newest group when it detects another ratio, and
   * until then it may interpret new packets by the old ratio, with other group numbers; protocol.md
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

  /** Makes an encoder with another first sequence number, a multiple of the group size. */
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
   * Writes the header of a data packet, and keeps a copy of its shard until the group is full.
   *
   * @param buf the packet; neither its indices nor its reference count change
   * @param headerIndex of the header of {@value FecPacket#DATA_HEADER_BYTES} bytes
   * @param end the index after the payload that follows it
   * @param nowUs the time, in microseconds
   * @return the number of parity packets to send now: 0, or the configured number
   * @throws IllegalArgumentException if the payload is longer than the size field allows
   */
  public int protect(ByteBuf buf, int headerIndex, int end, long nowUs) {
    return protect(buf, headerIndex, end, parityShards, nowUs);
  }

  /**
   * The same for a group of which {@code parity} packets are sent. The sequence numbers of the rest
   * are skipped.
   *
   * @param parity the number of parity packets to send if this packet completes its group
   */
  public int protect(ByteBuf buf, int headerIndex, int end, int parity, long nowUs) {
    FecPacket.write(buf, headerIndex, end, (int) next, FecPacket.DATA);
    advance(1);
    int index = headerIndex + FecPacket.HEADER_BYTES;
    longest = Math.max(longest, end - index);
    boolean isAfterGap = isAfterGap(nowUs);
    hasSent = true;
    sentAtUs = nowUs;
    count++;
    if (count < dataShards) {
      keep(buf, index, end - index);
      return 0;
    }
    return endGroup(buf, index, end - index, isAfterGap ? 0 : Math.min(parity, parityShards));
  }

  /**
   * Whether a sequence number is among the last 2^20 that this side has sent. Packets with such a
   * number are reflections; protocol.md 11.18.
   */
  public boolean isOwn(int seqid) {
    return hasSent && Integer.compareUnsigned((int) next - 1 - seqid, RECOGNISED) < 0;
  }

  /** The packets of the current group: 0 to the number of data packets less 1. */
  public int openShards() {
    return count;
  }

  /** Whether the current datagram is sent after a gap; the first one always is. */
  private boolean isAfterGap(long nowUs) {
    return !config.isFlushAligned() && (!hasSent || nowUs - sentAtUs >= PARITY_GAP_US);
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

  private int endGroup(ByteBuf buf, int index, int bytes, int parity) {
    boolean isSent = parity > 0 && !isUnprotected;
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
    return isSent ? parity : 0;
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
   * The length of each parity packet of the group just completed, header included, in bytes; 0 if
   * it has none.
   */
  public int parityBytes() {
    return parityBytes;
  }

  /**
   * Writes a parity packet of the group just completed. Has to be called before an encoder or
   * decoder of the same context is used otherwise.
   *
   * @param i the index of the packet: 0 to the configured number less 1
   * @param out the target, written at its writer index
   * @throws IllegalStateException if there is no parity, or it has been overwritten
   */
  public void writeParity(int i, ByteBuf out) {
    if (i < 0 || i >= parityShards) {
      throw new IllegalArgumentException(
          "i: " + i + " (expected: 0 to " + (parityShards - 1) + ")");
    }
    if (parityBytes == 0 || !codec.isOwnedBy(this)) {
      throw new IllegalStateException("no parity, or it has been overwritten");
    }
    out.writeIntLE((int) (firstParity + i));
    out.writeShortLE(FecPacket.PARITY);
    out.writeBytes(codec.bytes(dataShards + i), 0, parityBytes - FecPacket.HEADER_BYTES);
  }

  /** The capacity of the copies of the incomplete group, in bytes. */
  public int heldBytes() {
    return heldBytes;
  }

  /**
   * Drops the copies of the incomplete group, which then gets no parity. For sessions that have
   * been idle for long: their peers no longer need it.
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

  /** Releases all memory. Datagrams sent afterwards are numbered, but get no parity. */
  public void close() {
    dropGroup();
    isClosed = true;
    isUnprotected = true;
  }
}
