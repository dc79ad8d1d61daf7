package io.kcp4j.fec;

import io.netty.buffer.ByteBuf;
import java.util.Objects;

/** Recovers lost packets. */
public final class FecDecoder {

  private final FecConfig config;

  /**
   * Makes a decoder. It begins with the configured ratio, if there is one, and finds the peer's by
   * itself if that is another.
   *
   * @param config the settings
   * @param context what the thread's decoders share
   */
  public FecDecoder(FecConfig config, FecContext context) {
    this.config = config;
    Objects.requireNonNull(context, "context");
  }

  /**
   * Takes in a data or parity packet. Copies what it keeps. Never throws for what a peer sent. What
   * can be recovered then comes from {@link #nextRecovered}; the payload of a data packet itself
   * does not.
   *
   * @param packet holds the packet; neither its indices nor its reference count change
   * @param index where the FEC header begins
   * @param end where the packet ends
   * @param nowMs the time
   */
  public FecResult input(ByteBuf packet, int index, int end, long nowMs) {
    return FecResult.NOT_KEPT;
  }

  /**
   * The next recovered datagram, between reader and writer index, or null if there are no more. To
   * be called after each {@link #input} until it returns null.
   *
   * @return a buffer that stays the decoder's; it is valid until the next call of any encoder or
   *     decoder of the same context
   */
  public ByteBuf nextRecovered() {
    return null;
  }

  /** Data packets of a group by the ratio in force, 0 while it is unknown. */
  public int dataShards() {
    return config.dataShards();
  }

  /** Parity packets of a group by the ratio in force, 0 while it is unknown. */
  public int parityShards() {
    return config.parityShards();
  }

  /** How often the ratio has been found or has changed. */
  public int ratioChanges() {
    return 0;
  }

  /** How many recovered shards could not be datagrams, and were dropped. */
  public long refusedShards() {
    return 0;
  }

  /** The bytes that it holds of unfinished groups. */
  public int heldBytes() {
    return 0;
  }

  /** Gives up the unfinished groups: for sessions that have been idle for long. */
  public void forget() {}

  /** Releases everything. The decoder is not to be used any more. */
  public void close() {}
}
