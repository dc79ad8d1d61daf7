package io.kcp4j.internal.session;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.fec.DatagramCopies;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecDecoder;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;

/**
 * Forward error correction of one session. Adds parity to packets that are sent, if configured, and
 * recovers lost packets once the peer is seen to send FEC packets. Each direction has a ratio of
 * its own, or none.
 */
public final class FecLayer {

  /** The value of {@link #deadlineUs} if there is none. */
  static final long NO_DEADLINE = DatagramCopies.NONE;

  private final FecContext context;
  private final KcpCounters counters;

  /** The first sequence number: far from the peer's, so that reflections are recognised. */
  private int firstSeqid = FecPacket.UPPER_SEQID;

  private FecConfig config = FecConfig.NONE;
  private FecEncoder encoder;

  /** The last encoder, even if FEC is off now: the next one continues its sequence numbers. */
  private FecEncoder last;

  /** Null unless groups are aligned with flushes. */
  private FlushProtection protection;

  private FecDecoder decoder;
  private int ratioChanges;
  private long refusedShards;

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
      encode(last == null ? FecEncoder.from(firstSeqid, config, context) : last.successor(config));
    }
  }

  private void encode(FecEncoder next) {
    encoder = next;
    last = next;
    if (config.isFlushAligned()) {
      protection = new FlushProtection(config, context, encoder, counters);
    }
  }

  /** The first sequence number. */
  int firstSeqid() {
    return firstSeqid;
  }

  /** Sets the first sequence number. To be called before anything is sent. */
  void firstSeqid(int seqid) {
    firstSeqid = seqid;
    if (encoder != null) {
      close();
      encode(FecEncoder.from(seqid, config, context));
    }
  }

  FecConfig config() {
    return config;
  }

  boolean isEncoding() {
    return encoder != null;
  }

  // Output

  /** Datagrams of {@code kcp}, the session's ARQ, are written from now on. */
  void beginOutput(Kcp kcp) {
    if (protection != null) {
      protection.begin(kcp.srttUs(), kcp.rttVarUs(), kcp.isQueueStanding());
    }
  }

  /** See {@link io.kcp4j.internal.wire.DatagramOutput#splitFlush}. */
  int splitFlush(int sn, int bytes, int datagramBytes, int maxDatagrams, long nowUs) {
    return protection == null ? 0 : protection.plan(sn, bytes, datagramBytes, maxDatagrams, nowUs);
  }

  /** The header for which to leave room before a datagram that may be protected, in bytes. */
  int headerBytes() {
    return encoder != null && (protection == null || protection.isGrouping())
        ? FecPacket.DATA_HEADER_BYTES
        : 0;
  }

  /**
   * Whether to protect the datagram between {@code index} and the writer index. Datagrams without
   * payload are not protected: the next acknowledgement compensates for a lost one.
   */
  boolean isProtected(ByteBuf datagram, int index) {
    int push = firstPush(datagram, index);
    return push < datagram.writerIndex()
        && (protection == null || protection.isNew(datagram, push));
  }

  /** The index of the first PUSH, or the writer index. */
  private static int firstPush(ByteBuf datagram, int index) {
    int end = datagram.writerIndex();
    while (index < end && Segment.cmd(datagram, index) != Segment.PUSH) {
      index += Segment.HEADER_BYTES + Segment.length(datagram, index);
    }
    return index;
  }

  /**
   * Fills the header of the data packet that begins at {@code index}.
   *
   * @return how many parity packets have to follow it
   */
  int protect(ByteBuf packet, int index, long nowUs) {
    return protection == null
        ? encoder.protect(packet, index, packet.writerIndex(), nowUs)
        : protection.protect(packet, index, nowUs);
  }

  int parityBytes() {
    return encoder.parityBytes();
  }

  void writeParity(int i, ByteBuf out) {
    encoder.writeParity(i, out);
    counters.add(KcpCounter.FEC_PARITY_OUT, 1);
  }

  /** Whether copies of some datagrams of this flush have to be kept. */
  boolean isCopying() {
    return protection != null && protection.isCopying();
  }

  /** Keeps a copy of the datagram that begins at {@code index} if one is to follow it. */
  void keepCopy(ByteBuf datagram, int index, long nowUs) {
    int push = firstPush(datagram, index);
    if (push < datagram.writerIndex() && protection.isNew(datagram, push)) {
      protection.keepCopy(datagram, push, nowUs);
    }
  }

  /** The size of a copy that is to leave now, in bytes, or 0. */
  int dueCopyBytes(long nowUs) {
    return protection != null && protection.copies().nextAtUs() <= nowUs
        ? protection.copies().nextBytes()
        : 0;
  }

  /** Writes the copy that is to leave now. */
  void writeCopy(ByteBuf out, long nowUs) {
    protection.copies().writeNext(out, nowUs);
    counters.add(KcpCounter.FEC_COPIES_OUT, 1);
  }

  /** Whether a flush has left a group incomplete that was to be aligned. */
  boolean isGroupOpen() {
    return protection != null && protection.isGroupOpen();
  }

  /** Whether such a group has to be filled now. */
  boolean isGroupDue(long nowUs) {
    return protection != null && protection.isGroupDue(nowUs);
  }

  /** Writes a datagram that carries nothing. */
  void writeFiller(ByteBuf out) {
    protection.writeFiller(out);
    counters.add(KcpCounter.FEC_FILLERS_OUT, 1);
  }

  /** The time of the next filler or copy, in microseconds, or {@link #NO_DEADLINE}. */
  long deadlineUs() {
    return protection == null ? NO_DEADLINE : protection.deadlineUs();
  }

  /** A flush of the session has ended; all of its datagrams have been written. */
  void endFlush(long nowUs) {
    if (protection != null) {
      protection.endFlush(nowUs);
    }
  }

  // Input

  /** Whether packets are kept to recover others from. */
  public boolean isDecoding() {
    return decoder != null;
  }

  /** Begins to keep packets, to recover others from, if there is memory for that. */
  void startDecoding() {
    decoder = context.make(FecDecoder.BYTES, () -> new FecDecoder(config, context));
  }

  /**
   * Takes in a data or parity packet; {@link #nextRecovered} returns what it has recovered.
   *
   * @param isFresh whether its segments show that it is no replay
   */
  void input(ByteBuf packet, int index, boolean isFresh, long nowUs) {
    if (last != null && last.isOwn(FecPacket.seqid(packet, index))) {
      counters.add(KcpCounter.REFLECTED, 1);
      return;
    }
    FecDecoder.Result result = decoder.input(packet, index, packet.writerIndex(), isFresh, nowUs);
    if (result == FecDecoder.Result.REFUSED) {
      counters.add(KcpCounter.FEC_REFUSED, 1);
    } else if (result == FecDecoder.Result.REPLAYED) {
      counters.add(KcpCounter.FEC_REPLAYED, 1);
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
    if (protection != null) {
      protection.copies().close();
      protection = null;
    }
    if (decoder != null) {
      decoder.close();
      decoder = null;
      context.release(FecDecoder.BYTES);
      ratioChanges = 0;
      refusedShards = 0;
    }
  }
}
