package io.kcp4j.fec;

import io.netty.buffer.ByteBuf;
import java.util.Objects;

/** Writes FEC headers and makes parity. */
public final class FecEncoder {

  private final FecConfig config;
  private int seqid;

  /**
   * Makes an encoder whose first sequence number is 0.
   *
   * @param config one that encodes
   * @param context what the thread's encoders share
   */
  public FecEncoder(FecConfig config, FecContext context) {
    if (!config.isEncoding()) {
      throw new IllegalArgumentException("config: " + config + " (expected: one that encodes)");
    }
    this.config = config;
    Objects.requireNonNull(context, "context");
  }

  /**
   * Fills in the header of a data packet and keeps a copy of the payload until its group is full.
   *
   * @param buf the packet; neither its indices nor its reference count change
   * @param headerIndex where the header's {@value FecPacket#DATA_HEADER_BYTES} bytes begin
   * @param end where the payload behind it ends
   * @param nowMs the time
   * @return how many parity packets have to follow now: 0, or the configured number
   */
  public int protect(ByteBuf buf, int headerIndex, int end, long nowMs) {
    FecPacket.write(buf, headerIndex, end, seqid++, FecPacket.DATA);
    return 0;
  }

  /** The length of each parity packet of the group just ended, header included, in bytes. */
  public int parityBytes() {
    return 0;
  }

  /**
   * Writes a parity packet of the group just ended. To be called before anything else is done with
   * an encoder or decoder of the same context.
   *
   * @param i which: 0 to the configured number less 1
   * @param out where to, at its writer index
   */
  public void writeParity(int i, ByteBuf out) {
    if (i < 0 || i >= config.parityShards()) {
      throw new IllegalArgumentException(
          "i: " + i + " (expected: < " + config.parityShards() + ")");
    }
  }

  /** The bytes that it holds of the unfinished group. */
  public int heldBytes() {
    return 0;
  }

  /**
   * Gives up the copies of the unfinished group, which then gets no parity: for sessions that have
   * been idle for so long that nobody waits for it.
   */
  public void forget() {}

  /** Releases everything. The encoder is not to be used any more. */
  public void close() {}
}
