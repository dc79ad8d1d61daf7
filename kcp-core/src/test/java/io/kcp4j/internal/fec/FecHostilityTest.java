package io.kcp4j.internal.fec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Hostile input causes no exception, no impossible datagram and no memory beyond the limit or after
 * close, and valid packets are recovered afterwards.
 */
class FecHostilityTest {

  private static final int PACKETS = 12_000;
  private static final int BUDGET_BYTES = 1 << 20;
  private static final int DECODERS = 6;

  /** The packets of an attacker. */
  private enum Attack {
    RANDOM_BYTES {
      @Override
      byte[] packet(Random random, int i) {
        byte[] bytes = new byte[random.nextInt(64)];
        random.nextBytes(bytes);
        if (bytes.length > 5 && random.nextBoolean()) {
          bytes[4] = (byte) (0xf1 + random.nextInt(3));
          bytes[5] = 0;
        }
        return bytes;
      }
    },
    SPREAD_NUMBERS {
      @Override
      byte[] packet(Random random, int i) {
        return FecReceiver.packet(random.nextInt() & 0xffffffffL, type(random), size(random));
      }
    },
    NUMBERS_NEARBY {
      @Override
      byte[] packet(Random random, int i) {
        return FecReceiver.packet(i / 4 + random.nextInt(100), type(random), size(random));
      }
    },
    GROUPS_NEVER_COMPLETED {
      @Override
      byte[] packet(Random random, int i) {
        long seqid = i / 9 * 13L + i % 9;
        return FecReceiver.packet(seqid, FecPacket.DATA, size(random));
      }
    },
    PARITY_ONLY {
      @Override
      byte[] packet(Random random, int i) {
        return FecReceiver.packet(i / 3 * 13L + 10 + i % 3, FecPacket.PARITY, 1400);
      }
    },
    FALSE_PARITY {
      @Override
      byte[] packet(Random random, int i) {
        long seqid = i / 12 * 13L + i % 12 + 1;
        byte[] packet =
            FecReceiver.packet(seqid, seqid % 13 < 10 ? FecPacket.DATA : FecPacket.PARITY, 700);
        for (int k = FecPacket.DATA_HEADER_BYTES; k < packet.length; k++) {
          packet[k] = (byte) random.nextInt();
        }
        return packet;
      }
    },
    JUMPS {
      @Override
      byte[] packet(Random random, int i) {
        long seqid = ((i / 4 * 0x9e3779b9L) & 0xffffffffL) / 13 * 13 + i % 4;
        return FecReceiver.packet(seqid % 0xfffffff0L, FecPacket.DATA, size(random));
      }
    },
    FLAPPING_RATIOS {
      @Override
      byte[] packet(Random random, int i) {
        int shards = 2 + i / 700 % 60;
        int data = 1 + i / 350 % (shards - 1);
        return FecReceiver.packet(
            i, i % shards < data ? FecPacket.DATA : FecPacket.PARITY, size(random));
      }
    },
    BOTH_KINDS_OF_EVERY_NUMBER {
      @Override
      byte[] packet(Random random, int i) {
        return FecReceiver.packet(i / 2, i % 2 == 0 ? FecPacket.DATA : FecPacket.PARITY, 90);
      }
    };

    abstract byte[] packet(Random random, int i);

    private static int type(Random random) {
      return random.nextBoolean() ? FecPacket.DATA : FecPacket.PARITY;
    }

    private static int size(Random random) {
      return switch (random.nextInt(20)) {
        case 0 -> FecPacket.MAX_SHARD_BYTES;
        case 1, 2, 3, 4, 5 -> 1480;
        case 6 -> FecPacket.SIZE_BYTES;
        default -> FecPacket.SIZE_BYTES + random.nextInt(200);
      };
    }
  }

  @ParameterizedTest
  @EnumSource(Attack.class)
  void attackIsBounded(Attack attack) {
    Random random = new Random(1);
    MemoryBudget budget = new MemoryBudget(BUDGET_BYTES);
    FecContext context = new FecContext(MemoryAccount.of(budget));
    List<FecDecoder> decoders = new ArrayList<>();
    for (int i = 0; i < DECODERS; i++) {
      FecConfig config = i % 2 == 0 ? FecConfig.NONE : FecConfig.of(10, 3);
      decoders.add(new FecDecoder(config, context));
    }
    FecEncoder encoder = new FecEncoder(FecConfig.of(3, 2), context);
    ByteBuf sent = Unpooled.buffer().writeZero(1400);
    ByteBuf parity = Unpooled.buffer();
    for (int i = 0; i < PACKETS; i++) {
      FecDecoder decoder = decoders.get(random.nextInt(DECODERS));
      long nowUs = 1_000L * i;
      input(decoder, attack.packet(random, i), nowUs);
      int packets = encoder.protect(sent, 0, 1400, nowUs);
      for (int k = 0; k < packets; k++) {
        encoder.writeParity(k, parity.clear());
        assertEquals(1400, parity.readableBytes());
      }
      int held = encoder.heldBytes();
      for (FecDecoder each : decoders) {
        assertTrue(each.heldBytes() <= 256 * 1024);
        held += each.chargedBytes();
      }
      assertEquals(budget.usedBytes(), held);
      assertTrue(held <= BUDGET_BYTES / 2);
    }
    encoder.close();
    for (FecDecoder decoder : decoders) {
      assertTrue(decoder.ratioChanges() <= 2 + 1_000L * PACKETS / PeerRatio.CHANGE_INTERVAL_US);
      recoversValidPackets(decoder);
      decoder.close();
    }
    assertEquals(0, budget.usedBytes());
  }

  /** Never throws, and recovers datagrams no longer than the packets, only from packets. */
  private static void input(FecDecoder decoder, byte[] packet, long nowUs) {
    ByteBuf buf = Unpooled.wrappedBuffer(packet);
    FecDecoder.Result result = decoder.input(buf, 0, packet.length, nowUs);
    assertEquals(0, buf.readerIndex());
    assertEquals(1, buf.refCnt());
    int recovered = 0;
    for (ByteBuf r = decoder.nextRecovered(); r != null; r = decoder.nextRecovered()) {
      recovered++;
      assertTrue(r.readableBytes() <= FecPacket.MAX_SHARD_BYTES - FecPacket.SIZE_BYTES);
    }
    assertTrue(recovered == 0 || result == FecDecoder.Result.KEPT);
    assertTrue(recovered < FecConfig.MAX_SHARDS * 2);
  }

  /** It detects the true ratio again, whatever ratio it has assumed. */
  private static void recoversValidPackets(FecDecoder decoder) {
    FecSender sender =
        new FecSender(FecConfig.of(10, 3), 13_000_013L, MemoryBudget.unlimited(), new Random(1));
    int recovered = 0;
    long nowUs = 2_000L * PACKETS;
    for (int i = 0; i < 300; i++) {
      nowUs += 100_000;
      for (byte[] packet : sender.sendRandom(10, 100, 0)) {
        if (FecReceiver.seqid(packet) % 13 != 4) {
          ByteBuf buf = Unpooled.wrappedBuffer(packet);
          assertNotEquals(FecDecoder.Result.REFUSED, decoder.input(buf, 0, packet.length, nowUs));
          while (decoder.nextRecovered() != null) {
            recovered++;
          }
        }
      }
    }
    assertEquals(10, decoder.dataShards());
    assertEquals(3, decoder.parityShards());
    assertTrue(recovered > 100, "recovered: " + recovered);
  }

  @Test
  void exhaustedBudgetRefusesEveryPacketWithoutErrors() {
    MemoryBudget budget = new MemoryBudget(1);
    FecReceiver receiver = new FecReceiver(FecConfig.of(10, 3), budget);
    FecSender sender = new FecSender(FecConfig.of(10, 3), 0, new MemoryBudget(1), new Random(1));
    List<byte[]> packets = sender.sendRandom(200, 100, 0);
    assertEquals(200, packets.size(), "no parity without copies");
    receiver.inputAll(new FecSender(10, 3).sendRandom(200, 100, 0));
    assertEquals(0, receiver.recovered.size());
    receiver.close();
  }
}
