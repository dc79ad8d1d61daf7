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
 * Forward error correction of one session. Adds parity to packets that are sent, if configured, and
 * recovers lost packets once the peer is seen to send FEC packets. Each direction has a ratio of
 * its own, or none.
 */
final class FecLayer {

  private final FecContext context;
  private final KcpCounters counters;

  private FecConfig config = FecConfig.NONE;
  private FecEncoder encoder;

  /** The last encoder, even if FEC is off now: the next one continues its sequence numbers. */
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
   * Checks that {@link #configure} will not fail.
   *
   * @throws IllegalStateException if the sequence numbers do not allow another ratio now
   */
  void checkSuccessor(FecConfig next) {
    if (next != config && next.isEncoding() && last != null) {
      last.checkSuccessor(next);
    }
  }

  /** Changes the settings. The peer detects a new ratio by itself. */
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
   * @return how many parity packets have to follow it
   */
  int protect(ByteBuf packet, int index, long nowUs) {
    return encoder.protect(packet, index, packet.writerIndex(), nowUs);
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

  /** Whether decoding is configured, and waits for a first FEC packet. */
  boolean mayDecode() {
    return decoder == null && config.isDecoding();
  }

  /** Begins to keep packets, to recover others from. */
  void startDecoding() {
    decoder = new FecDecoder(config, context);
  }

  /** Takes in a data or parity packet; {@link #nextRecovered} returns what it has recovered. */
  void input(ByteBuf packet, int index, long nowUs) {
    if (decoder.input(packet, index, packet.writerIndex(), nowUs) == FecResult.REFUSED) {
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

  /** Releases the packets of incomplete groups. */
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
