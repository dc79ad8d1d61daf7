package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Objects;

/**
 * Recovers lost datagrams of a peer from its parity packets; protocol.md 11.5 to 11.11.
 *
 * <p>Packets belong to groups by their sequence numbers. A group whose data have all arrived is
 * complete; one that misses data, but has as many packets in total, recovers them. The ratio is the
 * configured one or, where none is configured or the packets contradict it, the one detected from
 * the packets. Either way nothing is recovered until the packets have proven the ratio, which takes
 * one group and the beginning of the next where nothing is lost.
 *
 * <p>Used by one thread. The caller keeps the ownership of packets, which are copied as needed. The
 * held memory is limited per decoder and charged to the account of the context, and so is what
 * finds it; after a complete group no packets are held. Where there is no memory packets are not
 * kept.
 */
public final class FecDecoder {

  /**
   * How the decoder has treated a data or parity packet. It concerns only the recovery of other
   * packets: the payload of a data packet is valid unless the packet is {@link #REFUSED}.
   */
  public enum Result {
    /** Kept, or the last packet that its group needed. */
    KEPT,
    /** It arrived before, or its group has been completed without it. */
    DUPLICATE,
    /** Its group has been dropped, or it is far from the current sequence numbers of the peer. */
    STALE,
    /** It is behind all packets that are kept and brings nothing new, as replayed packets do. */
    REPLAYED,
    /** It contradicts the current ratio or the other packets of its group. */
    MISPLACED,
    /** Not kept: the decoder is closed, or the memory limit is reached. */
    NOT_KEPT,
    /** Malformed: its payload must not be used. */
    REFUSED
  }

  /** The memory of a decoder that has kept nothing yet, the search for the ratio included. */
  public static final int BYTES = 512;

  private final FecContext context;
  private final PeerRatio ratio;

  private ShardGroups groups;

  /** A number of the newest group, or -1 if there has been none. */
  private long newestSeqid = -1;

  /** The packets of all groups in the last ring, arrived or not. */
  private int keptPackets;

  private RecentShards recent;
  private ShardCodec codec;
  private boolean isClosed;

  /** The next place of the group in the codec to examine for a recovered datagram. */
  private int place;

  private ByteBuf recovered;
  private long refusedShards;

  /**
   * Makes a decoder. It begins with the configured ratio, if there is one, and detects the ratio of
   * the peer if that is different.
   *
   * @param config the settings
   * @param context shared by the decoders of a thread
   */
  public FecDecoder(FecConfig config, FecContext context) {
    this.context = Objects.requireNonNull(context, "context");
    ratio = new PeerRatio(config);
  }

  /**
   * Processes a data or parity packet that cannot be a replay; see {@link #input(ByteBuf, int, int,
   * boolean, long)}.
   */
  public Result input(ByteBuf packet, int index, int end, long nowUs) {
    return input(packet, index, end, true, nowUs);
  }

  /**
   * Processes a data or parity packet. Input from a peer never causes an exception. {@link
   * #nextRecovered} returns what can be recovered then, but not the payload of the packet itself.
   *
   * @param packet the buffer of the packet; its indices and reference count do not change
   * @param index of the FEC header
   * @param end the index after the packet
   * @param isFresh whether its payload shows that the packet cannot be a replay; only such packets
   *     move the groups or the search for the ratio back
   * @param nowUs the time, in microseconds
   */
  public Result input(ByteBuf packet, int index, int end, boolean isFresh, long nowUs) {
    if (isClosed) {
      return Result.NOT_KEPT;
    }
    int shardIndex = index + FecPacket.HEADER_BYTES;
    int bytes = end - shardIndex;
    if (bytes < FecPacket.SIZE_BYTES || !isWellFormed(packet, index, bytes)) {
      return Result.REFUSED;
    }
    boolean isData = FecPacket.type(packet, index) == FecPacket.DATA;
    long seqid = FecPacket.seqid(packet, index) & 0xffffffffL;
    if (!isFresh && isBehind(seqid)) {
      return Result.REPLAYED;
    }
    boolean fits = ratio.isKnown() && ratio.fits(seqid, isData);
    if (ratio.observe(seqid, isData, fits, isFresh, nowUs)) {
      regroup(seqid);
      fits = ratio.fits(seqid, isData);
    }
    if (!ratio.isKnown()) {
      return hasRecent() ? recent.add(seqid, isData, packet, shardIndex, bytes) : Result.NOT_KEPT;
    }
    if (!fits) {
      return Result.MISPLACED;
    }
    if (!hasGroups()) {
      return Result.NOT_KEPT;
    }
    Result result = groups.add(ratio.group(), ratio.place(), packet, shardIndex, bytes);
    if (groups.hasJumped()) {
      ratio.requireProof();
    }
    newestSeqid = groups.newestSeqid();
    keptPackets = groups.keptPackets();
    return result;
  }

  /** Whether a number precedes the groups of the ring, or of the last one if it was released. */
  private boolean isBehind(long seqid) {
    return newestSeqid >= 0 && (int) (newestSeqid - seqid) > keptPackets;
  }

  private static boolean isWellFormed(ByteBuf packet, int index, int bytes) {
    if (FecPacket.seqid(packet, index) == FecPacket.OUT_OF_BAND_SEQID
        || bytes > FecPacket.MAX_SHARD_BYTES) {
      return false;
    }
    return switch (FecPacket.type(packet, index)) {
      case FecPacket.DATA -> FecPacket.size(packet, index) == bytes;
      case FecPacket.PARITY -> true;
      default -> false;
    };
  }

  /** Drops the groups of the former ratio, and adds the packets that arrived before this one. */
  private void regroup(long seqid) {
    closeGroups();
    codec = null;
    if (recent != null && hasGroups()) {
      recent.moveTo(groups, ratio, seqid);
    }
    closeRecent();
  }

  private void closeGroups() {
    if (groups != null) {
      groups.close();
      groups = null;
    }
  }

  private void closeRecent() {
    if (recent != null) {
      recent.close();
      recent = null;
    }
  }

  /** Makes the store of packets without a ratio on first use. False if there is no memory. */
  private boolean hasRecent() {
    if (recent == null) {
      recent = RecentShards.create(context);
    }
    return recent != null;
  }

  /** Makes the ring of groups on first use. False if there is no memory. */
  private boolean hasGroups() {
    if (groups == null) {
      groups = ShardGroups.create(ratio.dataShards(), ratio.parityShards(), context);
    }
    return groups != null;
  }

  /**
   * The next recovered datagram, between reader and writer index, or null if there are no more. Has
   * to be called after each {@link #input} until it returns null, before an encoder or decoder of
   * the same context is used otherwise: datagrams not fetched by then may be lost.
   *
   * @return a buffer owned by the decoder, valid until the next call
   */
  public ByteBuf nextRecovered() {
    while (true) {
      while (codec != null && place < ratio.dataShards() && codec.isOwnedBy(this)) {
        ByteBuf datagram = datagram(place++);
        if (datagram != null) {
          return datagram;
        }
      }
      if (groups == null || !groups.isRecoverable() || !ratio.isProven()) {
        return null;
      }
      recoverNext();
    }
  }

  private void recoverNext() {
    if (codec == null) {
      codec = context.codec(ratio.dataShards(), ratio.parityShards());
    }
    groups.loadRecoverable(codec, this);
    boolean isRecovered = codec.reconstruct();
    assert isRecovered;
    place = isConsistent() ? 0 : ratio.dataShards();
  }

  /** If one size is impossible, the packets are not of one group: nothing of it is used. */
  private boolean isConsistent() {
    int refused = 0;
    for (int i = 0; i < ratio.dataShards(); i++) {
      if (!codec.isPresent(i) && !isDatagram(i)) {
        refused++;
      }
    }
    refusedShards += refused;
    return refused == 0;
  }

  private boolean isDatagram(int place) {
    int size = codec.size(place);
    return size >= FecPacket.SIZE_BYTES && size <= codec.shardBytes();
  }

  /** The recovered datagram at a place, or null if it is not needed. */
  private ByteBuf datagram(int place) {
    if (!codec.isWanted(place)) {
      return null;
    }
    byte[] bytes = codec.bytes(place);
    if (recovered == null || recovered.array() != bytes) {
      recovered = Unpooled.wrappedBuffer(bytes);
    }
    return recovered.setIndex(FecPacket.SIZE_BYTES, codec.size(place));
  }

  /** Data packets of a group by the current ratio, 0 while it is unknown. */
  public int dataShards() {
    return ratio.dataShards();
  }

  /** Parity packets of a group by the current ratio, 0 while it is unknown. */
  public int parityShards() {
    return ratio.parityShards();
  }

  /** Changes of the ratio, the first detection without a configured ratio included. */
  public int ratioChanges() {
    return ratio.changes();
  }

  /** The number of recovered shards that cannot be datagrams; their groups were dropped. */
  public long refusedShards() {
    return refusedShards;
  }

  /** The capacity of the held packets of incomplete groups, in bytes. */
  public int heldBytes() {
    return (groups == null ? 0 : groups.heldBytes()) + (recent == null ? 0 : recent.heldBytes());
  }

  /** Bytes charged to the account of the context: the packets, and the arrays that find them. */
  public int chargedBytes() {
    return heldBytes()
        + (groups == null ? 0 : groups.arrayBytes())
        + (recent == null ? 0 : RecentShards.CHARGED_BYTES);
  }

  /**
   * Drops the incomplete groups, as of a session that has been idle for long: its peer has
   * retransmitted what they lack. The ratio stays known.
   */
  public void forget() {
    closeGroups();
    closeRecent();
  }

  /** Releases everything. Packets handed in afterwards are not kept. */
  public void close() {
    forget();
    isClosed = true;
  }

  /**
   * The newest packets of a peer whose ratio is not known yet, so that losses among them can be
   * recovered once it is. It keeps no packets after {@link #MAX_PACKETS} without a ratio.
   */
  private static final class RecentShards {

    /** The largest group that is detected. A power of 2. */
    private static final int CAPACITY = PeerRatio.MAX_DETECTED_SHARDS;

    private static final int MAX_PACKETS = 512;

    private static final int ENTRY_BYTES =
        ShardGroups.REFERENCE_BYTES + Character.BYTES + Integer.BYTES + 1;

    /** The arrays, with their headers, and the object. */
    static final int CHARGED_BYTES = CAPACITY * ENTRY_BYTES + 104;

    private final FecContext context;
    private final byte[][] shards = new byte[CAPACITY][];
    private final char[] lengths = new char[CAPACITY];
    private final int[] seqids = new int[CAPACITY];
    private final boolean[] isData = new boolean[CAPACITY];
    private int packets;
    private int heldBytes;

    /** Without packets, and charged until {@link #close}; null if there is no memory. */
    static RecentShards create(FecContext context) {
      return context.make(CHARGED_BYTES, () -> new RecentShards(context));
    }

    private RecentShards(FecContext context) {
      this.context = context;
    }

    /** The memory of the packets, in bytes. */
    int heldBytes() {
      return heldBytes;
    }

    Result add(long seqid, boolean isData, ByteBuf packet, int index, int bytes) {
      if (packets == MAX_PACKETS) {
        release();
        return Result.NOT_KEPT;
      }
      packets++;
      int i = (int) seqid & (CAPACITY - 1);
      if (shards[i] != null && seqids[i] == (int) seqid) {
        return Result.DUPLICATE;
      }
      drop(i);
      if (heldBytes + FecContext.sizeFor(bytes) > ShardGroups.MAX_HELD_BYTES) {
        return Result.NOT_KEPT;
      }
      byte[] copy = context.acquire(bytes);
      if (copy == null) {
        return Result.NOT_KEPT;
      }
      FecPacket.read(packet, index, copy, bytes);
      shards[i] = copy;
      lengths[i] = (char) bytes;
      seqids[i] = (int) seqid;
      this.isData[i] = isData;
      heldBytes += copy.length;
      return Result.KEPT;
    }

    /** Moves the packets near {@code seqid} that fit the ratio to the groups, in order. */
    void moveTo(ShardGroups groups, PeerRatio ratio, long seqid) {
      for (long near = Math.max(0, seqid - CAPACITY + 1); near < seqid + CAPACITY; near++) {
        int i = (int) near & (CAPACITY - 1);
        if (shards[i] != null && seqids[i] == (int) near && ratio.fits(near, isData[i])) {
          byte[] shard = shards[i];
          shards[i] = null;
          heldBytes -= shard.length;
          groups.add(ratio.group(), ratio.place(), shard, lengths[i]);
        }
      }
    }

    private void drop(int i) {
      if (shards[i] != null) {
        heldBytes -= shards[i].length;
        context.release(shards[i]);
        shards[i] = null;
      }
    }

    /** Releases everything. */
    void close() {
      release();
      context.release(CHARGED_BYTES);
    }

    private void release() {
      for (int i = 0; heldBytes > 0 && i < CAPACITY; i++) {
        drop(i);
      }
    }
  }
}
