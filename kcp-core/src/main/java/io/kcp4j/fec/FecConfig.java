package io.kcp4j.fec;

import io.kcp4j.internal.fec.FecPacket;

/**
 * The settings of forward error correction of a session. Immutable; many sessions can share one.
 * {@link #of} and {@link #adaptive} are complete settings; {@link #toBuilder} changes the rest.
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

  /** The default of {@link #maxParity()} of {@link #adaptive} settings. */
  public static final int DEFAULT_MAX_PARITY = 2;

  /** A later copy is of no use: the ARQ has retransmitted lost segments by then. */
  private static final int MAX_DELAYED_COPY_MS = 100;

  /** Sends no parity, but decodes what a peer sends. */
  public static final FecConfig NONE = new Builder(0, 0, false).build();

  private final int dataShards;
  private final int parityShards;
  private final boolean isAdaptive;
  private final int maxParity;
  private final boolean isFlushAligned;
  private final int delayedCopyMs;

  private FecConfig(Builder builder) {
    dataShards = builder.dataShards;
    parityShards = builder.parityShards;
    isAdaptive = builder.isAdaptive;
    maxParity = builder.maxParity;
    isFlushAligned = builder.isFlushAligned;
    delayedCopyMs = builder.delayedCopyMs;
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
    return new Builder(dataShards, parityShards, false).build();
  }

  /**
   * For payload that is written in small amounts and must not be late, as in games: splits each
   * flush into four datagrams, and sends as much parity with them, up to {@link #maxParity()}
   * packets, as keeps retransmissions rare. A session that loses nothing neither splits flushes nor
   * sends parity after a minute, except for a few groups from which the peer detects the ratio. Nor
   * does a session while it has more to send than may leave.
   *
   * <p>To the peer this is the ratio of 4 to 3; the parity that is not sent seems lost. Groups are
   * {@linkplain Builder#flushAligned aligned} with flushes. See protocol.md 11.13 to 11.17.
   */
  public static FecConfig adaptive() {
    return new Builder(4, 3, true).maxParity(DEFAULT_MAX_PARITY).flushAligned(true).build();
  }

  /** Data packets of a group, 0 without encoding. */
  public int dataShards() {
    return dataShards;
  }

  /** Parity packets of a group, sent or not, 0 without encoding. */
  public int parityShards() {
    return parityShards;
  }

  /** Packets of a group, 0 without encoding. */
  public int shards() {
    return dataShards + parityShards;
  }

  /** Whether sent datagrams are protected. */
  public boolean isEncoding() {
    return dataShards > 0;
  }

  /** Bytes that FEC adds to each datagram that is sent: 8 if it encodes, else 0. */
  public int headerBytes() {
    return isEncoding() ? FecPacket.DATA_HEADER_BYTES : 0;
  }

  /** Whether the number of parity packets follows the losses, as of {@link #adaptive} settings. */
  public boolean isAdaptive() {
    return isAdaptive;
  }

  /**
   * The most parity packets that are sent for a group: of {@link #adaptive} settings {@value
   * #DEFAULT_MAX_PARITY} by default, otherwise {@link #parityShards()}.
   */
  public int maxParity() {
    return maxParity;
  }

  /**
   * Whether flushes are split into whole groups, so that parity leaves with the data that it
   * protects. Default false: a group is full when enough datagrams have been sent.
   */
  public boolean isFlushAligned() {
    return isFlushAligned;
  }

  /**
   * The delay, in milliseconds, after which a copy of a flush's payload follows the flush; 0, the
   * default: no copy follows.
   */
  public int delayedCopyMs() {
    return delayedCopyMs;
  }

  /** A builder that starts from these settings. */
  public Builder toBuilder() {
    Builder builder = new Builder(dataShards, parityShards, isAdaptive);
    builder.maxParity = maxParity;
    builder.isFlushAligned = isFlushAligned;
    builder.delayedCopyMs = delayedCopyMs;
    return builder;
  }

  private static int checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          "FEC " + name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return value;
  }

  @Override
  public String toString() {
    if (!isEncoding()) {
      return "none";
    }
    String ratio = dataShards + "/" + parityShards;
    return isAdaptive ? ratio + " adaptive" : isFlushAligned ? ratio + " aligned" : ratio;
  }

  /**
   * Collects settings. {@link #build} checks whether they are possible together, so that their
   * order does not matter.
   */
  public static final class Builder {

    private final int dataShards;
    private final int parityShards;
    private final boolean isAdaptive;
    private int maxParity;
    private boolean isFlushAligned;
    private int delayedCopyMs;

    private Builder(int dataShards, int parityShards, boolean isAdaptive) {
      this.dataShards = dataShards;
      this.parityShards = parityShards;
      this.isAdaptive = isAdaptive;
      maxParity = parityShards;
    }

    /**
     * Sets the most parity packets that are sent for a group of {@link FecConfig#adaptive()}
     * settings.
     *
     * @param packets 1 to {@link FecConfig#parityShards()}
     */
    public Builder maxParity(int packets) {
      maxParity = packets;
      return this;
    }

    /**
     * Sets whether flushes are split into groups. A flush of a few datagrams becomes {@link
     * FecConfig#dataShards()} equal datagrams, or a multiple of that, and their parity. Where
     * copies take fewer bytes, a small flush is not split, but followed by as many copies as there
     * is parity. Retransmissions are not protected, nor is anything while more is queued than a few
     * datagrams, or than may leave. A group gets its parity however long it takes to fill.
     *
     * @param isAligned true for {@link FecConfig#adaptive()} settings, false without encoding
     */
    public Builder flushAligned(boolean isAligned) {
      isFlushAligned = isAligned;
      return this;
    }

    /**
     * Sets whether copies leave some milliseconds after a flush, instead of parity: against bursts
     * of losses, in which a whole flush is lost with its parity. There are as many copies as there
     * would be parity packets, each this long after the one before; set {@link #maxParity(int)} to
     * 1 for a single one. Flushes have to be {@linkplain #flushAligned aligned}.
     *
     * @param ms 1 to 100, or 0 for none; longer than most bursts last
     */
    public Builder delayedCopyMs(int ms) {
      delayedCopyMs = checkRange("delayedCopyMs", ms, 0, MAX_DELAYED_COPY_MS);
      return this;
    }

    /**
     * Makes the configuration.
     *
     * @throws IllegalArgumentException if the settings are not possible together
     */
    public FecConfig build() {
      checkRange("maxParity", maxParity, isAdaptive ? 1 : parityShards, parityShards);
      boolean isAlignmentPossible = isFlushAligned ? dataShards > 0 : !isAdaptive;
      if (!isAlignmentPossible) {
        throw new IllegalArgumentException(
            "FEC flushAligned: " + isFlushAligned + " (expected: " + !isFlushAligned + ")");
      }
      if (delayedCopyMs > 0 && !isFlushAligned) {
        throw new IllegalArgumentException(
            "FEC delayedCopyMs: " + delayedCopyMs + " (expected: 0 unless flushAligned)");
      }
      return new FecConfig(this);
    }
  }
}
