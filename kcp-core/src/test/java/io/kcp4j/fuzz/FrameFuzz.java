package io.kcp4j.fuzz;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.Arrays;

/**
 * The frames of lanes without an ARQ, so that many executions fit into a second: segments of any
 * bytes, in and out of order, or those that other lanes have written, unaltered or altered. {@link
 * FrameSide} checks the receiving side after each step: what it reads, what it holds, and that what
 * it does not take has no effect. {@link LaneFuzz} fuzzes whole sessions.
 */
public final class FrameFuzz {

  private static final int LANES = FrameSide.LANES;

  /** Unreliable and sequenced messages with numbers of 16 bits, and of 32: protocol.md 13.2. */
  private static final int[] ITEM_TYPES = {16, 17, 19, 20};

  /** The lane and a number of 32 bits, which precede the payload in the value of an item. */
  private static final int ITEM_HEADER_BYTES = 6;

  private static final int SMALL_BUDGET = 4 * 1024;

  /** Messages may be larger than their first buffer. */
  private static final int LARGE_BUDGET = 1024 * 1024;

  private static final int LARGE_MESSAGE = 130_000;

  private static final int MEMORY = 3_000;

  private static final LanesConfig SMALL = config(SMALL_BUDGET);
  private static final LanesConfig LARGE = config(LARGE_BUDGET);

  /** The least room of a segment: protocol.md 15.1.5. */
  private static final int MIN_ROOM = 82;

  private static final int MAX_ROOM = 1_376;

  private static final ByteBuf OUT = Unpooled.buffer(4096);

  private final FuzzInput input;
  private final boolean isMemoryShort;
  private final FrameSide server;

  /** Null if all that the server receives is forged. */
  private final FrameSide client;

  private FrameFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int setup = input.unsignedByte();
    boolean isForged = (setup & 1) == 0;
    LanesConfig config = (setup & 0x38) == 0x38 ? LARGE : SMALL;
    MemoryBudget memory = (setup & 6) == 4 ? new MemoryBudget(MEMORY) : MemoryBudget.unlimited();
    int failEvery = (setup & 6) == 6 ? 2 + (setup >> 6) : Integer.MAX_VALUE;
    isMemoryShort = (setup & 4) != 0;
    server = new FrameSide(config, memory, failEvery, !isForged);
    if (isForged) {
      client = null;
      if ((setup & 0xc0) == 0xc0) {
        server.take(input.take(input.below(8)), true);
      }
    } else {
      client = new FrameSide(config, MemoryBudget.unlimited(), Integer.MAX_VALUE, true);
      client.open();
    }
    server.open();
  }

  private static LanesConfig config(int budgetBytes) {
    LaneConfig unordered = LaneConfig.of(LaneKind.RELIABLE_UNORDERED);
    return LanesConfig.builder()
        .maxLanes(LANES)
        .budgetBytes(budgetBytes)
        .unreliableQueue(3)
        .lane(1, unordered)
        .lane(3, unordered)
        .build();
  }

  /** One receiving side. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    run(bytes);
  }

  /** The same; returns how many messages have been received. */
  static int run(byte[] bytes) {
    FrameFuzz fuzz = new FrameFuzz(bytes);
    if (fuzz.client != null) {
      fuzz.begin();
    }
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
      fuzz.server.check();
    }
    if (fuzz.client != null) {
      fuzz.finish();
      fuzz.client.close();
    }
    fuzz.server.checkRoom();
    fuzz.server.close();
    return fuzz.server.received;
  }

  private void step() {
    int op = input.unsignedByte();
    int arg = op >> 4;
    switch (op & 15) {
      case 0, 1, 2 -> forge(arg);
      case 3 -> takeAnything(arg);
      case 4 -> forgeItem(arg);
      case 5 -> server.read(arg % LANES, 1 + arg / LANES);
      case 6 -> server.readNews();
      case 7 -> server.discard(arg % LANES);
      case 8 -> endOrSend(server, arg);
      case 9 -> pull(server);
      default -> stepOfClient(op & 15, arg);
    }
  }

  private void stepOfClient(int op, int arg) {
    if (client == null) {
      forge(arg);
      return;
    }
    switch (op) {
      case 10, 11 -> deliver(client, server, arg);
      case 12 -> deliver(server, client, arg);
      case 13 -> client.readNews();
      case 14 -> pull(client);
      default -> endOrSend(client, arg);
    }
    client.check();
  }

  // Two sides

  /** The first messages leave. */
  private void begin() {
    for (int messages = 1 + input.below(8); messages > 0; messages--) {
      send(client, input.unsignedByte());
    }
    for (int segments = 0; segments < 4; segments++) {
      pull(client);
    }
  }

  private void send(FrameSide side, int kind) {
    side.send(kind % LANES, (kind < 200 ? 1 : 3) * input.unsignedByte());
  }

  private void endOrSend(FrameSide side, int arg) {
    int kind = input.unsignedByte();
    Lane lane = side.lanes.lane(arg % LANES);
    switch (kind & 7) {
      case 0 -> lane.shutdownOutput();
      case 1 -> lane.abortOutput();
      case 2 -> side.discard(arg % LANES);
      case 3 -> side.changeKind(arg % LANES);
      default -> side.send(arg % LANES, kind * (1 + arg / LANES));
    }
  }

  private void pull(FrameSide side) {
    int room = MIN_ROOM + input.unsignedByte();
    side.pull(room, (room & 3) == 0 ? room / 2 : room);
  }

  /** A segment arrives, perhaps altered; it comes again if there is no memory for it. */
  private void deliver(FrameSide from, FrameSide to, int arg) {
    if (from.sent.isEmpty()) {
      return;
    }
    int index = arg < 8 ? 0 : input.below(from.sent.size());
    byte[] bytes = from.sent.get(index);
    if ((arg & 7) >= 5) {
      bytes = altered(bytes, arg & 7);
      spoil();
    }
    boolean isTaken = to.take(bytes, index == 0);
    if (isTaken && (arg & 7) != 4) {
      from.sent.remove(index);
    } else if (isTaken) { // It arrives twice, as the ARQ does not let it.
      spoil();
    }
  }

  /** What one side has received from now on breaks the rules, and so may what it sends. */
  private void spoil() {
    server.isPeerCorrect = false;
    if (client != null) {
      client.isPeerCorrect = false;
    }
  }

  private byte[] altered(byte[] bytes, int how) {
    int at = input.unsignedByte() % bytes.length;
    switch (how) {
      case 5 -> {
        byte[] altered = bytes.clone();
        altered[at] ^= (byte) (1 << input.below(8));
        return altered;
      }
      case 6 -> {
        byte[] altered = bytes.clone();
        byte[] replacement = input.take(Math.min(input.below(8), bytes.length - at));
        System.arraycopy(replacement, 0, altered, at, replacement.length);
        return altered;
      }
      default -> {
        byte[] more = input.take(input.below(16));
        byte[] altered = Arrays.copyOf(bytes, at + more.length);
        System.arraycopy(more, 0, altered, at, more.length);
        return altered;
      }
    }
  }

  /** If both sides have kept the rules, everything arrives. */
  private void finish() {
    server.readAll();
    client.readAll();
    server.check();
    client.check();
    if (isMemoryShort || !server.isPeerCorrect) {
      return;
    }
    for (int rounds = 0; !(client.isIdle() && server.isIdle()); rounds++) {
      Check.that(rounds < 1_000, "never done");
      exchange(client, server);
      exchange(server, client);
    }
    client.readAll();
    server.checkDone(client);
    client.checkDone(server);
  }

  private static void exchange(FrameSide from, FrameSide to) {
    from.pull(MAX_ROOM, MAX_ROOM);
    while (!from.sent.isEmpty()) {
      to.take(from.sent.remove(0), true);
    }
    to.readAll();
  }

  // Forged segments

  private void takeAnything(int arg) {
    spoil();
    server.take(input.take(input.unsignedByte()), arg < 12);
  }

  private void forge(int arg) {
    spoil();
    OUT.clear();
    for (int frames = arg & 3; frames >= 0; frames--) {
      forgeFrame(input.unsignedByte());
    }
    byte[] segment = new byte[OUT.readableBytes()];
    OUT.readBytes(segment);
    server.take(segment, arg < 8);
  }

  private void forgeFrame(int kind) {
    if (kind >= 248) {
      OUT.writeBytes(input.take(input.below(12)));
      return;
    }
    int type = kind & 7;
    int flags = type == 1 || type == 2 ? kind & 0x78 : 0;
    int id = input.below(LANES + 1);
    int near = server.base(id);
    OUT.writeByte(type | flags).writeByte(id);
    switch (type) {
      case 1, 2 -> forgeMessage(flags, near);
      case 3 -> OUT.writeIntLE(input.unsignedShort());
      case 4 -> OUT.writeIntLE(near + (input.signedByte() >> 3)).writeByte(input.below(128));
      case 6, 7 -> OUT.writeIntLE(near + (input.signedByte() >> 3));
      default -> {}
    }
  }

  private void forgeMessage(int flags, int near) {
    int distance = input.signedByte();
    int number = near + (distance < 0 ? distance >> 5 : distance & 7);
    if ((flags & 0x20) != 0) {
      OUT.writeIntLE(number);
    } else if ((flags & 0x08) != 0) {
      OUT.writeByte(number);
    } else {
      OUT.writeShortLE(number);
    }
    int length = input.below(100);
    if ((flags & 0x10) != 0) {
      forgePart(distance, length);
    }
    if ((flags & 0x40) != 0) {
      OUT.writeByte(length);
    }
    OUT.writeZero(length);
  }

  /** Total and offset: often those of a part of two, sometimes of a large message. */
  private void forgePart(int distance, int length) {
    int place = input.unsignedByte();
    if (place < 64) {
      writeVarInt(2 * length);
      writeVarInt(place < 32 ? 0 : length);
    } else if (place < 224) {
      writeVarInt(100);
      writeVarInt(place - 64);
    } else {
      writeVarInt((distance & 1) == 0 ? input.unsignedShort() : LARGE_MESSAGE);
      writeVarInt(input.unsignedShort());
    }
  }

  private static void writeVarInt(int value) {
    int rest = value;
    for (; rest >= 128; rest >>>= 7) {
      OUT.writeByte(rest | 128);
    }
    OUT.writeByte(rest);
  }

  private void forgeItem(int arg) {
    spoil();
    int id = input.below(LANES + 1);
    int near = server.base(id);
    int number = near + (arg == 15 ? input.unsignedShort() : input.signedByte() >> 2);
    byte[] value = new byte[ITEM_HEADER_BYTES + input.unsignedByte()];
    value[0] = (byte) id;
    value[2] = (byte) number;
    value[3] = (byte) (number >> 8);
    value[4] = (byte) (number >> 16);
    value[5] = (byte) (number >> 24);
    server.takeUnreliable(ITEM_TYPES[arg & 3], value);
  }
}
