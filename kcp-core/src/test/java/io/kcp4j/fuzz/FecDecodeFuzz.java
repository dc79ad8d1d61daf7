package io.kcp4j.fuzz;

import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.fec.FecContext;
import io.kcp4j.internal.fec.FecDecoder;
import io.kcp4j.internal.fec.FecEncoder;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryBudget;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/**
 * Gives a decoder what an encoder makes: late, twice, or never, altered, and with forged packets
 * among it; the ratio changes meanwhile, and is not the configured one. As long as nothing was
 * altered and the ratio has not changed, what is recovered is what was sent. Memory stays within
 * its limits, and none is held in the end.
 */
public final class FecDecodeFuzz {

  private static final int CONV = 0x0badcafe;
  private static final int LIMIT_BYTES = 40_000;

  /** What a decoder holds at most, whatever the budget. */
  private static final int RING = 128;

  private static final int MAX_PACKET_BYTES = 512;
  private static final int MARGIN = 5;

  private static final FecConfig[] RATIOS = {
    FecConfig.of(2, 1), FecConfig.of(1, 1), FecConfig.of(3, 2), FecConfig.of(2, 2),
    FecConfig.of(1, 2), FecConfig.of(4, 1), FecConfig.of(10, 3), FecConfig.of(5, 5)
  };

  private static final FecContext CONTEXT =
      new FecContext(MemoryAccount.of(MemoryBudget.unlimited()));
  private static final byte[][] PACKETS = new byte[RING][MAX_PACKET_BYTES];
  private static final int[] LENGTHS = new int[RING];
  private static final ByteBuf SCRATCH = Unpooled.buffer(MAX_PACKET_BYTES, MAX_PACKET_BYTES);
  private static final ByteBuf HEAP = Unpooled.buffer(1024, 1024);
  private static final ByteBuf DIRECT = Unpooled.directBuffer(1024, 1024);

  private final FuzzInput input;
  private final MemoryBudget budget = new MemoryBudget(LIMIT_BYTES);
  private final MemoryBudget peersBudget = MemoryBudget.unlimited();
  private final FecDecoder decoder;
  private FecEncoder encoder;
  private int datagrams;
  private int sent;
  private int delivered;
  private long nowUs;
  private boolean isHonest = true;

  private FecDecodeFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    FecConfig config = input.oneIn(3) ? FecConfig.NONE : ratio();
    decoder = new FecDecoder(config, CONTEXT.withMemory(MemoryAccount.of(budget)));
    encoder = new FecEncoder(ratio(), CONTEXT.withMemory(MemoryAccount.of(peersBudget)));
  }

  private FecConfig ratio() {
    return RATIOS[input.below(RATIOS.length)];
  }

  /** One stream. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    new FecDecodeFuzz(bytes).run();
  }

  private void run() {
    while (!input.isAtEnd()) {
      step();
      Check.that(budget.usedBytes() <= LIMIT_BYTES, "beyond the budget");
      Check.that(budget.usedBytes() == decoder.chargedBytes(), "charged and held differ");
    }
    decoder.close();
    encoder.close();
    Check.that(decoder.chargedBytes() == 0 && budget.usedBytes() == 0, "the decoder leaks");
    Check.that(peersBudget.usedBytes() == 0, "an encoder leaks");
  }

  private void step() {
    int op = input.unsignedByte();
    switch (op % 16) {
      case 0, 1, 2, 3, 4 -> {
        send();
        deliverAll(op);
      }
      case 5 -> {
        // A burst of which one packet in some is lost.
        for (int i = input.below(32), loss = 2 + input.below(8); i >= 0; i--) {
          send();
          deliverAll(i % loss == 0 ? 0x10 : 0);
        }
      }
      case 6, 7, 8 -> deliver(sent - 1 - input.below(RING), false);
      case 9 -> deliver(sent - 1 - input.below(RING), true);
      case 10 -> makeUp();
      case 11 -> nowUs += 1_000L * input.unsignedShort();
      case 12, 13 -> {
        encoder = encoder.successor(ratio());
        isHonest = false; // A change can go unnoticed: protocol.md 11.10.
      }
      case 14 -> decoder.forget();
      default -> encoder.dropGroup();
    }
  }

  // The peer

  private void send() {
    SCRATCH.clear().writeZero(MARGIN + FecPacket.DATA_HEADER_BYTES);
    writeDatagram(SCRATCH, datagrams++);
    int parity = encoder.protect(SCRATCH, MARGIN, SCRATCH.writerIndex(), nowUs);
    remember(SCRATCH.readerIndex(MARGIN));
    for (int i = 0; i < parity; i++) {
      SCRATCH.clear();
      encoder.writeParity(i, SCRATCH);
      remember(SCRATCH);
    }
  }

  private void remember(ByteBuf packet) {
    int slot = sent++ % RING;
    LENGTHS[slot] = packet.readableBytes();
    packet.getBytes(packet.readerIndex(), PACKETS[slot], 0, LENGTHS[slot]);
  }

  /** A datagram with its number, whose length follows from the number. */
  private static void writeDatagram(ByteBuf out, int number) {
    out.writeIntLE(CONV).writeIntLE(number);
    int word = number * 0x9e3779b9;
    for (int i = (word >>> 27) & 15; i >= 0; i--) {
      word = word * 0x01000193 + i;
      out.writeIntLE(word);
    }
  }

  // The network

  /** Delivers what has been sent since the last call, or loses it. */
  private void deliverAll(int op) {
    boolean isLost = (op & 0x10) != 0;
    for (; delivered < sent; delivered++) {
      if (!isLost) {
        deliver(delivered, false);
      }
      isLost = false;
    }
  }

  private void deliver(int number, boolean alters) {
    if (number < 0 || number < sent - RING) {
      return;
    }
    byte[] packet = PACKETS[number % RING];
    int bytes = LENGTHS[number % RING];
    if (!alters) {
      take(packet, bytes);
      return;
    }
    isHonest = false;
    byte[] copy = Arrays.copyOf(packet, MAX_PACKET_BYTES);
    int at = input.below(bytes + 8);
    if (at >= bytes) {
      bytes = input.below(bytes);
    } else {
      copy[at] = (byte) (copy[at] ^ input.unsignedByte());
    }
    take(copy, bytes);
  }

  /** A packet whose header may be near the expected one. */
  private void makeUp() {
    isHonest = false;
    byte[] packet = new byte[MAX_PACKET_BYTES];
    ByteBuf out = Unpooled.wrappedBuffer(packet).clear();
    boolean isNear = input.oneIn(2);
    int seqid = isNear ? sent + input.signedByte() : input.integer();
    int type = FecPacket.DATA + input.below(4);
    int shardBytes = input.below(100);
    out.writeIntLE(seqid).writeShortLE(type);
    int bytes = FecPacket.HEADER_BYTES + shardBytes;
    if (type != FecPacket.PARITY) {
      out.writeShortLE(input.oneIn(4) ? input.unsignedShort() : shardBytes);
    }
    out.writeBytes(input.take(8));
    take(packet, bytes);
  }

  // The decoder

  private void take(byte[] packet, int bytes) {
    ByteBuf buffer = input.oneIn(4) ? DIRECT : HEAP;
    buffer.setBytes(MARGIN, packet, 0, bytes);
    Check.that(decoder.input(buffer, MARGIN, MARGIN + bytes, nowUs) != null, "no result");
    for (int i = 0; i < bytes; i++) {
      Check.that(buffer.getByte(MARGIN + i) == packet[i], "altered the packet");
    }
    for (ByteBuf recovered; (recovered = decoder.nextRecovered()) != null; ) {
      check(recovered);
    }
    Check.that(decoder.nextRecovered() == null, "more where there was no more");
  }

  private void check(ByteBuf recovered) {
    if (!isHonest) {
      return;
    }
    Check.that(recovered.readableBytes() >= 2 * Integer.BYTES, "shorter than any that was sent");
    int number = recovered.getIntLE(recovered.readerIndex() + Integer.BYTES);
    SCRATCH.clear();
    writeDatagram(SCRATCH, number);
    boolean isGenuine = number >= 0 && number < datagrams && SCRATCH.equals(recovered);
    if (!isGenuine) {
      throw new AssertionError(
          "recovered what was never sent, by "
              + decoder.dataShards()
              + "/"
              + decoder.parityShards());
    }
  }
}
