package io.kcp4j.fec;

/**
 * The settings of forward error correction of a session. Immutable; many sessions can share one.
 *
 * <p>Both directions are independent: the peer may use another ratio, or none. The decoder recovers
 * lost datagrams from the peer's parity, whatever the settings. It detects ratios other than the
 * configured one if their groups have at most 64 packets.
 */
public final class FecConfig {

  /**
   * The maximum number of shards of a group, data and parity together, a limit of Reed-Solomon over
   * GF(2^8).
   */
  public static final int MAX_SHARDS = 256;

  /** The default of {@link #maxParity} of {@link #adaptive} settings. */
  public static final int DEFAULT_MAX_PARITY = 2;

  /** Later than that, the ARQ has retransmitted what was lost. */
  private static final int MAX_COPY_DELAY_MS = 100;

  /** Sends no parity, but decodes what a peer sends. */
  public static final FecConfig NONE = new FecConfig(new Fields());

  /** Written only while a configuration is made. */
  private static final class Fields {

    int dataShards;
    int parityShards;
    boolean isFlushAligned;
    boolean isAdaptive;
    int maxParity;
    int copyDelayMs;

    Fields() {}

    Fields(Fields other) {
      dataShards = other.dataShards;
      parityShards = other.parityShards;
      isFlushAligned = other.isFlushAligned;
      isAdaptive = other.isAdaptive;
      maxParity = other.maxParity;
      copyDelayMs = other.copyDelayMs;
    }
  }

  private final Fields fields;

  private FecConfig(Fields fields) {
    this.fields = fields;
  }

  /**
   * Sends {@code parityShards} parity packets after every {@code dataShards} datagrams: any {@code
   * parityShards} of these packets may be lost. A group gets no parity if its last datagram is sent
   * 500 ms or longer after the one before, as in kcp-go. Datagrams without payload are not
   * protected: the next acknowledgement compensates for a lost one.
   *
   * @param dataShards 1 to 255
   * @param parityShards 1 to 255; together at most {@value #MAX_SHARDS}
   */
  public static FecConfig of(int dataShards, int parityShards) {
    checkRange("data shards", dataShards, 1, MAX_SHARDS - 1);
    checkRange("parity shards", parityShards, 1, MAX_SHARDS - 1);
    checkRange("data and parity shards together", dataShards + parityShards, 2, MAX_SHARDS);
    Fields fields = new Fields();
    fields.dataShards = dataShards;
    fields.parityShards = parityShards;
    fields.maxParity = parityShards;
    return new FecConfig(fields);
  }

  /**
   * For payload that is written in small amounts and must not be late, as in games: splits each
   * flush into four datagrams, and sends as much parity with them, up to {@link #maxParity}
   * packets, as keeps retransmissions rare. A session that loses nothing neither splits flushes nor
   * sends parity after a minute, except for a few groups from which the peer detects the ratio. Nor
   * does a session while it has more to send than may leave.
   *
   * <p>To the peer this is the ratio of 4 to 3; the parity that is not sent seems lost. Groups are
   * {@linkplain #withFlushAlignment aligned} with flushes. See protocol.md 11.13 to 11.17.
   */
  public static FecConfig adaptive() {
    Fields fields = new Fields(of(4, 3).fields);
    fields.isAdaptive = true;
    fields.isFlushAligned = true;
    fields.maxParity = DEFAULT_MAX_PARITY;
    return new FecConfig(fields);
  }

  /** Data packets of a group, 0 without encoding. */
  public int dataShards() {
    return fields.dataShards;
  }

  /** Parity packets of a group, sent or not, 0 without encoding. */
  public int parityShards() {
    return fields.parityShards;
  }

  /** Packets of a group, 0 without encoding. */
  public int shards() {
    return fields.dataShards + fields.parityShards;
  }

  /** Whether sent datagrams are protected. */
  public boolean isEncoding() {
    return fields.dataShards > 0;
  }

  /** What FEC adds to each datagram that is sent, in bytes: 8 if it encodes, else 0. */
  public int headerBytes() {
    return isEncoding() ? FecPacket.DATA_HEADER_BYTES : 0;
  }

  /** Whether the number of parity packets follows the losses, as of {@link #adaptive} settings. */
  public boolean isAdaptive() {
    return fields.isAdaptive;
  }

  /**
   * The most parity packets that are sent for a group: of {@link #adaptive} settings {@value
   * #DEFAULT_MAX_PARITY} by default, otherwise {@link #parityShards}.
   */
  public int maxParity() {
    return fields.maxParity;
  }

  /**
   * These settings with another limit on parity.
   *
   * @param packets 1 to {@link #parityShards}
   * @throws IllegalStateException if these settings are not {@link #adaptive}
   */
  public FecConfig withMaxParity(int packets) {
    if (!isAdaptive()) {
      throw new IllegalStateException("FEC maxParity: of adaptive settings only");
    }
    checkRange("maxParity", packets, 1, parityShards());
    Fields fields = new Fields(this.fields);
    fields.maxParity = packets;
    return new FecConfig(fields);
  }

  /**
   * Whether flushes are split into whole groups, so that parity leaves with the data that it
   * protects. Default false: a group is full when enough datagrams have been sent.
   */
  public boolean isFlushAligned() {
    return fields.isFlushAligned;
  }

  /**
   * These settings with flushes split into groups or not. A flush of a few datagrams becomes {@link
   * #dataShards} equal datagrams, or a multiple of that, and their parity. Where copies take fewer
   * bytes, a small flush is not split, but followed by as many copies as there is parity.
   * Retransmissions are not protected, nor is anything while more is queued than a few datagrams,
   * or than may leave. A group gets its parity however long it takes to fill.
   *
   * @throws IllegalStateException if these settings do not encode, or are {@link #adaptive} and
   *     {@code isAligned} is false
   */
  public FecConfig withFlushAlignment(boolean isAligned) {
    if (!isEncoding() || (isAdaptive() && !isAligned)) {
      throw new IllegalStateException("FEC flushAlignment: " + isAligned + " with FEC " + this);
    }
    Fields fields = new Fields(this.fields);
    fields.isFlushAligned = isAligned;
    return new FecConfig(fields);
  }

  /**
   * How long after a flush a copy of its payload follows, in milliseconds; 0, the default: none
   * does.
   */
  public int copyDelayMs() {
    return fields.copyDelayMs;
  }

  /**
   * These settings with copies that leave some milliseconds later, instead of parity: against
   * bursts of losses, in which a whole flush is lost with its parity. There are as many copies as
   * there would be parity packets, each so long after the one before; set {@link #withMaxParity} to
   * 1 for a single one.
   *
   * @param ms 1 to 100, or 0 for none; longer than most bursts last
   * @throws IllegalStateException if flushes are not {@linkplain #isFlushAligned aligned}
   */
  public FecConfig withDelayedCopyMs(int ms) {
    if (!isFlushAligned()) {
      throw new IllegalStateException("FEC delayedCopyMs: with flush alignment only");
    }
    checkRange("delayedCopyMs", ms, 0, MAX_COPY_DELAY_MS);
    Fields fields = new Fields(this.fields);
    fields.copyDelayMs = ms;
    return new FecConfig(fields);
  }

  private static void checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          "FEC " + name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  @Override
  public String toString() {
    if (!isEncoding()) {
      return "none";
    }
    String ratio = dataShards() + "/" + parityShards();
    return isAdaptive() ? ratio + " adaptive" : isFlushAligned() ? ratio + " aligned" : ratio;
  }
}
