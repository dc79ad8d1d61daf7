package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;

/** A decoder and its recovered datagrams. */
final class FecReceiver {

  final MemoryBudget budget;
  final FecDecoder decoder;
  final List<byte[]> recovered = new ArrayList<>();
  long nowUs;

  FecReceiver(FecConfig config) {
    this(config, MemoryBudget.unlimited());
  }

  FecReceiver(FecConfig config, MemoryBudget budget) {
    this(config, new FecContext(MemoryAccount.of(budget)), budget);
  }

  FecReceiver(FecConfig config, FecContext context, MemoryBudget budget) {
    this.budget = budget;
    decoder = new FecDecoder(config, context);
  }

  FecDecoder.Result input(byte[] packet) {
    return input(packet, true);
  }

  /** Inputs a packet that may be a replay. */
  FecDecoder.Result replay(byte[] packet) {
    return input(packet, false);
  }

  private FecDecoder.Result input(byte[] packet, boolean isFresh) {
    ByteBuf buf = Unpooled.buffer();
    buf.writeZero(3).writeBytes(packet).writeZero(5);
    FecDecoder.Result result = decoder.input(buf, 3, 3 + packet.length, isFresh, nowUs);
    for (ByteBuf r = decoder.nextRecovered(); r != null; r = decoder.nextRecovered()) {
      byte[] datagram = new byte[r.readableBytes()];
      r.readBytes(datagram);
      recovered.add(datagram);
    }
    return result;
  }

  void inputAll(List<byte[]> packets) {
    packets.forEach(this::input);
  }

  /** Inputs whole groups after that of {@code seqid}, enough to prove the ratio. */
  void prove(long seqid, int dataShards, int parityShards) {
    int shards = dataShards + parityShards;
    long paws = FecPacket.paws(shards);
    long first = seqid / shards * shards + shards;
    for (int i = 0; i < Math.max(3 * shards, 50); i++) {
      int type = i % shards < dataShards ? FecPacket.DATA : FecPacket.PARITY;
      input(packet((first + i) % paws, type, FecPacket.SIZE_BYTES));
    }
  }

  String ratio() {
    return decoder.dataShards() + "/" + decoder.parityShards();
  }

  /** The budget is charged what the decoder says, which is zero after close. */
  void close() {
    assertEquals(decoder.chargedBytes(), budget.usedBytes());
    decoder.close();
    assertEquals(0, decoder.chargedBytes());
    assertEquals(0, budget.usedBytes());
  }

  static int seqid(byte[] packet) {
    return FecPacket.seqid(Unpooled.wrappedBuffer(packet), 0);
  }

  static boolean isData(byte[] packet) {
    return FecPacket.type(Unpooled.wrappedBuffer(packet), 0) == FecPacket.DATA;
  }

  /** A well-formed packet with a shard of {@code bytes}. */
  static byte[] packet(long seqid, int type, int shardBytes) {
    ByteBuf buf = Unpooled.buffer();
    buf.writeZero(FecPacket.HEADER_BYTES + shardBytes);
    if (type == FecPacket.PARITY) {
      buf.setIntLE(0, (int) seqid).setShortLE(4, type);
    } else {
      FecPacket.write(buf, 0, buf.writerIndex(), (int) seqid, type);
    }
    byte[] bytes = new byte[buf.readableBytes()];
    buf.readBytes(bytes);
    return bytes;
  }
}
