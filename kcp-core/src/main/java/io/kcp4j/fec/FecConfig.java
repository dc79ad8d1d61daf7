package io.kcp4j.fec;

/**
 * The settings of forward error correction of a session. Immutable; many sessions can share one.
 *
 * <p>Both directions are independent: the peer may use another ratio, or none.
 */
public final class FecConfig {

  /**
   * The maximum number of shards of a group, data and parity together, a limit of Reed-Solomon over
   * GF(2^8).
   */
  public static final int MAX_SHARDS = 256;

  /** kcp-go uses 500 ms: after such a gap the ARQ has already recovered from a loss. */
  public static final int DEFAULT_PARITY_GAP_MS = 500;

  /** Limits the work that a peer can cause: larger codecs take milliseconds to build. */
  public static final int DEFAULT_MAX_DETECTED_SHARDS = 64;

  /** Sends no parity, but decodes what a peer sends. */
  public static final FecConfig NONE =
      new FecConfig(0, 0, DEFAULT_PARITY_GAP_MS, false, true, DEFAULT_MAX_DETECTED_SHARDS);

  private final int dataShards;
  private final int parityShards;
  private final int parityGapMs;
  private final boolean protectsAcks;
  private final boolean isDecoding;
  private final int maxDetectedShards;

  private FecConfig(
      int dataShards,
      int parityShards,
      int parityGapMs,
      boolean protectsAcks,
      boolean isDecoding,
      int maxDetectedShards) {
    this.dataShards = dataShards;
    this.parityShards = parityShards;
    this.parityGapMs = parityGapMs;
    this.protectsAcks = protectsAcks;
    this.isDecoding = isDecoding;
    this.maxDetectedShards = maxDetectedShards;
  }

  /**
   * Sends {@code parityShards} parity packets after every {@code dataShards} datagrams: any {@code
   * parityShards} of these packets may be lost.
   *
   * @param dataShards 1 to 255
   * @param parityShards 1 to 255; together at most {@value #MAX_SHARDS}
   */
  public static FecConfig of(int dataShards, int parityShards) {
    checkRange("dataShards", dataShards, 1, MAX_SHARDS - 1);
    checkRange("parityShards", parityShards, 1, MAX_SHARDS - 1);
    checkRange("dataShards + parityShards", dataShards + parityShards, 2, MAX_SHARDS);
    return new FecConfig(
        dataShards, parityShards, DEFAULT_PARITY_GAP_MS, false, true, DEFAULT_MAX_DETECTED_SHARDS);
  }

  /** Data packets of a group, 0 without encoding. */
  public int dataShards() {
    return dataShards;
  }

  /** Parity packets of a group, 0 without encoding. */
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

  /** What FEC adds to each datagram that is sent, in bytes: 8 if it encodes, else 0. */
  public int headerBytes() {
    return isEncoding() ? FecPacket.DATA_HEADER_BYTES : 0;
  }

  /**
   * The gap, in milliseconds, after which a group gets no parity: if its last datagram is sent so
   * long or longer after the previous one. 0: parity is always sent. Default {@value
   * #DEFAULT_PARITY_GAP_MS}.
   */
  public int parityGapMs() {
    return parityGapMs;
  }

  /**
   * These settings with another gap.
   *
   * @param ms 0 or more
   */
  public FecConfig withParityGapMs(int ms) {
    checkRange("parityGapMs", ms, 0, Integer.MAX_VALUE);
    return new FecConfig(dataShards, parityShards, ms, protectsAcks, isDecoding, maxDetectedShards);
  }

  /**
   * Whether datagrams that contain only acknowledgements and window probes are protected, too, as
   * in kcp-go. Default false: the next acknowledgement compensates for a lost one.
   */
  public boolean protectsAcks() {
    return protectsAcks;
  }

  /** These settings with acknowledgements protected or not. */
  public FecConfig withProtectsAcks(boolean protectsAcks) {
    return new FecConfig(
        dataShards, parityShards, parityGapMs, protectsAcks, isDecoding, maxDetectedShards);
  }

  /** Whether lost datagrams are recovered from the parity that the peer sends. Default true. */
  public boolean isDecoding() {
    return isDecoding;
  }

  /** These settings with decoding on or off. */
  public FecConfig withDecoding(boolean isDecoding) {
    return new FecConfig(
        dataShards, parityShards, parityGapMs, protectsAcks, isDecoding, maxDetectedShards);
  }

  /**
   * The largest groups, data and parity together, that the decoder accepts when it detects a ratio
   * of the peer other than the configured one. Default {@value #DEFAULT_MAX_DETECTED_SHARDS}.
   */
  public int maxDetectedShards() {
    return maxDetectedShards;
  }

  /**
   * These settings with another limit on detected groups.
   *
   * @param shards 2 to {@value #MAX_SHARDS}, or 0 to use only the configured ratio
   */
  public FecConfig withMaxDetectedShards(int shards) {
    if (shards != 0) {
      checkRange("maxDetectedShards", shards, 2, MAX_SHARDS);
    }
    return new FecConfig(dataShards, parityShards, parityGapMs, protectsAcks, isDecoding, shards);
  }

  private static void checkRange(String name, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          name + ": " + value + " (expected: " + min + " to " + max + ")");
    }
  }

  @Override
  public String toString() {
    return isEncoding() ? dataShards + "/" + parityShards : "none";
  }
}
