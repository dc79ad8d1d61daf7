package io.kcp4j.jmh;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecDecoder;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Forward error correction in groups of 10 full datagrams and 3 parity packets: the cost of each
 * datagram, its share of parity included. The lower bound is one copy of a datagram.
 */
@State(Scope.Thread)
public class FecBenchmark extends KcpBenchmark {

  private static final int DATA = 10;
  private static final int PARITY = 3;
  private static final int SHARDS = DATA + PARITY;
  private static final int LOST = 4;
  private static final int PROOF = 4;
  private static final FecConfig CONFIG = FecConfig.of(DATA, PARITY);

  private final FecContext context = new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
  private final FecEncoder encoder = new FecEncoder(CONFIG, context);
  private final FecDecoder decoder = new FecDecoder(CONFIG, context);
  private final ByteBuf[] packets = new ByteBuf[SHARDS];
  private final ByteBuf out = ALLOCATOR.directBuffer(PACKET_BYTES);
  private final byte[] copy = new byte[PACKET_BYTES];
  private int seqid;

  /** The packets of one group, and a decoder with a proven ratio. */
  @Setup
  public void encodeOnce() {
    for (int i = 0; i < SHARDS; i++) {
      packets[i] = ALLOCATOR.directBuffer(PACKET_BYTES);
    }
    for (int i = 0; i < DATA; i++) {
      for (int k = 0; k < PACKET_BYTES; k++) {
        packets[i].writeByte(i * k);
      }
      encoder.protect(packets[i], 0, PACKET_BYTES, 0);
    }
    for (int i = 0; i < PARITY; i++) {
      encoder.writeParity(i, packets[DATA + i]);
    }
    for (int i = 0; i < PROOF; i++) {
      decodeGroup(SHARDS);
    }
  }

  /** A datagram sent. */
  @Benchmark
  @OperationsPerInvocation(DATA)
  public int encode() {
    int bytes = 0;
    for (int i = 0; i < DATA; i++) {
      int parity = encoder.protect(packets[i], 0, PACKET_BYTES, 0);
      for (int k = 0; k < parity; k++) {
        encoder.writeParity(k, out.clear());
        bytes += out.readableBytes();
      }
    }
    return bytes;
  }

  /** A datagram received, none lost. */
  @Benchmark
  @OperationsPerInvocation(DATA)
  public int decodeWithoutLoss() {
    int recovered = decodeGroup(SHARDS);
    check(recovered == 0, "nothing was lost");
    return recovered;
  }

  /** A datagram received, one of ten lost and recovered. */
  @Benchmark
  @OperationsPerInvocation(DATA)
  public int decodeOneLostPerGroup() {
    int recovered = decodeGroup(LOST);
    check(recovered == 1, "one was lost");
    return recovered;
  }

  private int decodeGroup(int lost) {
    int recovered = 0;
    for (int i = 0; i < SHARDS; i++) {
      packets[i].setIntLE(0, seqid++);
      if (i != lost) {
        decoder.input(packets[i], 0, PACKET_BYTES, 0);
        while (decoder.nextRecovered() != null) {
          recovered++;
        }
      }
    }
    return recovered;
  }

  /** The baseline: a datagram copied to an array. */
  @Benchmark
  @OperationsPerInvocation(DATA)
  public byte[] baselineCopy() {
    for (int i = 0; i < DATA; i++) {
      packets[i].getBytes(FecPacket.HEADER_BYTES, copy, 0, PACKET_BYTES - FecPacket.HEADER_BYTES);
    }
    return copy;
  }

  /** All held packets have been released. */
  @TearDown
  public void close() {
    check(encoder.heldBytes() == 0 && decoder.heldBytes() == 0, "something is held");
    encoder.close();
    decoder.close();
    for (ByteBuf packet : packets) {
      packet.release();
    }
    out.release();
  }
}
