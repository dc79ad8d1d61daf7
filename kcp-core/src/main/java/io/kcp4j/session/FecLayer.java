package io.kcp4j.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.fec.FecContext;
import io.kcp4j.fec.FecDecoder;
import io.kcp4j.fec.FecEncoder;
import io.kcp4j.fec.FecResult;
import io.netty.buffer.ByteBuf;

/**
 * The forward error correction of one session: protects what leaves if it is configured to, and
 * recovers what was lost on its way here once the peer is seen to protect what it sends. Each
 * direction has its own ratio, or none.
 */
final class FecLayer {

  private final FecContext context;
  private final KcpCounters counters;

  private FecConfig config = FecConfig.NONE;
  private FecEncoder encoder;

  /** The encoder, or the one before while there is none: the next goes on behind it. */
  private FecEncoder last;

  private FecDecoder decoder;
  private int ratioChanges;
  private long refusedShards;
  private long flushes;

  FecLayer(FecContext context, KcpCounters counters) {
    this.context = context;
    this.counters = counters;
  }

  /**
   * Makes sure that {@link #configure} will not fail.
   *
   * @throws IllegalStateException if the sequence numbers do not allow another ratio now
   */
  void checkSuccessor(FecConfig next) {
    if (next != config && next.isEncoding() && last != null) {
      last.checkSuccessor(next);
    }
  }

  /** Changes the settings. The peer finds a new ratio by itself. */
  void configure(FecConfig next) {
    if (next == config) {
      return;
    }
    config = next;
    close();
    if (config.isEncoding()) {
      encoder = last == null ? new FecEncoder(config, context) : last.successor(config);
      last = encoder;
    }
  }

  FecConfig config() {
    return config;
  }

  boolean isEncoding() {
    return encoder != null;
  }

  // Output

  /**
   * Fills the header of the data packet that begins at {@code index}.
   *
   * @return how many parity packets must follow it
   */
  int protect(ByteBuf packet, int index, long nowMs) {
    return encoder.protect(packet, index, packet.writerIndex(), nowMs);
  }

  int parityBytes() {
    return encoder.parityBytes();
  }

  void writeParity(int i, ByteBuf out) {
    encoder.writeParity(i, out);
    counters.add(KcpCounter.FEC_PARITY_OUT, 1);
  }

  /** A flush of the session has ended; all of its datagrams have been written. */
  void endFlush() {
    flushes++;
  }

  /** How many flushes have written datagrams. */
  long flushes() {
    return flushes;
  }

  // Input

  /** Whether packets are kept to recover others from. */
  boolean isDecoding() {
    return decoder != null;
  }

  /** Whether packets would be kept if there were any, and are not yet. */
  boolean mayDecode() {
    return decoder == null && config.isDecoding();
  }

  /** Begins to keep packets. */
  void startDecoding() {
    decoder = new FecDecoder(config, context);
  }

  /** Takes in a data or parity packet; what can be recovered now is to be had next. */
  void input(ByteBuf packet, int index, long nowMs) {
    if (decoder.input(packet, index, packet.writerIndex(), nowMs) == FecResult.REFUSED) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
    }
    if (decoder.ratioChanges() != ratioChanges) {
      counters.add(KcpCounter.FEC_RATIO_CHANGES, decoder.ratioChanges() - ratioChanges);
      ratioChanges = decoder.ratioChanges();
    }
    if (decoder.refusedShards() != refusedShards) {
      counters.add(KcpCounter.FEC_REFUSED, decoder.refusedShards() - refusedShards);
      refusedShards = decoder.refusedShards();
    }
  }

  /** The next recovered datagram, valid until the next call, or null. */
  ByteBuf nextRecovered() {
    return decoder.nextRecovered();
  }

  /** Gives up what unfinished groups hold, which nobody waits for any more. */
  void forget() {
    if (encoder != null) {
      encoder.dropGroup();
    }
    if (decoder != null) {
      decoder.forget();
    }
  }

  void close() {
    if (encoder != null) {
      encoder.close();
      encoder = null;
    }
    if (decoder != null) {
      decoder.close();
      decoder = null;
      ratioChanges = 0;
      refusedShards = 0;
    }
  }
}
