package io.kcp4j.internal.fec;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** An encoder and the packets that it has sent, each in an array of its own. */
final class FecSender {

  private static final int HEADROOM = 20;
  private static final int MAX_BYTES = 70_000;

  final MemoryBudget budget;
  FecEncoder encoder;

  /** The payload of each sequence number. */
  final Map<Integer, byte[]> payloads = new HashMap<>();

  private final Random random;

  FecSender(int dataShards, int parityShards) {
    this(FecConfig.of(dataShards, parityShards), 0, MemoryBudget.unlimited(), new Random(1));
  }

  FecSender(FecConfig config, long firstSeqid, MemoryBudget budget, Random random) {
    this.budget = budget;
    this.random = random;
    encoder = new FecEncoder(config, new FecContext(MemoryAccount.of(budget)), firstSeqid);
  }

  /** Sends a payload: the data packet, and parity if its group is full. */
  List<byte[]> send(byte[] payload, long nowUs) {
    return send(payload, Integer.MAX_VALUE, nowUs);
  }

  /** The same with so much parity at most. */
  List<byte[]> send(byte[] payload, int maxParity, long nowUs) {
    ByteBuf buf = Unpooled.buffer(MAX_BYTES);
    buf.writeZero(HEADROOM + FecPacket.DATA_HEADER_BYTES).writeBytes(payload);
    int parity = encoder.protect(buf, HEADROOM, buf.writerIndex(), maxParity, nowUs);
    List<byte[]> packets = new ArrayList<>();
    packets.add(bytes(buf.skipBytes(HEADROOM)));
    payloads.put(FecPacket.seqid(buf, HEADROOM), payload);
    for (int i = 0; i < parity; i++) {
      buf.setIndex(HEADROOM, HEADROOM);
      encoder.writeParity(i, buf);
      packets.add(bytes(buf));
    }
    return packets;
  }

  /** Sends payloads of random bytes and lengths. */
  List<byte[]> sendRandom(int count, int maxBytes, long nowUs) {
    List<byte[]> packets = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      byte[] payload = new byte[random.nextInt(maxBytes + 1)];
      random.nextBytes(payload);
      packets.addAll(send(payload, nowUs));
    }
    return packets;
  }

  private static byte[] bytes(ByteBuf buf) {
    byte[] bytes = new byte[buf.readableBytes()];
    buf.getBytes(buf.readerIndex(), bytes);
    return bytes;
  }
}
