package io.kcp4j.fuzz;

import io.kcp4j.MemoryUse;
import io.kcp4j.internal.memory.MemoryBudget;
import io.kcp4j.internal.memory.MemoryLimit;
import io.kcp4j.internal.memory.ProcessMemory;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;

/**
 * A server with little memory, and any number of peers: forged ones, whose datagrams come from
 * anywhere and who receive nothing; hostile ones, whose addresses are real; and honest ones, over a
 * network that loses and reorders. They send to streams, messages, lanes and smux streams: parts of
 * messages, data beyond gaps, malformed frames, requests for large answers, and replays. What is
 * held stays below the limit plus what each session may always keep. Sessions end only by the rules
 * of protocol.md 8.12. When the attack ends, all honest messages arrive; a client whose session the
 * server has ended begins another one.
 */
public final class MemoryFuzz {

  private static final int KIB = 1024;
  private static final int[] LIMITS = {256 * KIB, 512 * KIB, 1024 * KIB, 2048 * KIB};
  private static final int[] SIZES = {0, 1, 10, 100, 500, 1_100};

  /** Sequence numbers are this far apart. */
  private static final int[] STRIDES = {0, 1, 2, 17};

  // Of the first byte, beside the limit, loss and reordering:

  private static final int STREAMS = 0x40;
  private static final int PROCESS = 0x80;

  private static final int MAX_BURST = 64;

  /** More at once than a server accepts before the client has proven its address. */
  private static final int MAX_STREAMS = 12;

  private static final int MAX_HONEST = 24;
  private static final int MAX_HOSTILE = 16;
  private static final int FORGED_HOSTS = 0x10000;

  /** A conversation id whose session has streams. */
  private static final int FORGED_STREAMS = 9;

  private static final int HOSTILE_HOSTS = 0x20000;
  private static final int HONEST_HOSTS = 0x30000;

  /** A session that has nothing else to send may queue this, whatever the limit is. */
  private static final int MIN_QUEUE_BYTES = 2 * KIB;

  /** What was read for a stream is kept in any case, and counts as this at least. */
  private static final int MIN_KEPT_BYTES = 256;

  /** Buffers of the table itself, and the part of a buffer beyond what is charged. */
  private static final int TABLE_BYTES = 64 * KIB;

  private static final long END_US = 400_000_000;

  /** A client whose session was evicted waits so long for answers, and begins another one. */
  private static final long PATIENCE_US = 60_000_000;

  private static final byte[] NO_BYTES = {};

  private static long datagrams;
  private static long honest;
  private static long again;

  private final FuzzInput input;
  private final boolean hasStreams;

  /** The limit of the process, which holds other memory, too; null without. */
  private final ProcessMemory process;

  private final long processBytes;
  private final MemoryLimit other;
  private final MemoryBudget otherBudget;
  private final MemoryPeers peers;
  private final int honestUnit;
  private int hosts;

  private MemoryFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int setup = input.unsignedByte();
    int limitBytes = LIMITS[setup & 3];
    hasStreams = (setup & STREAMS) != 0;
    processBytes = limitBytes * 3L / 4;
    process = (setup & PROCESS) == 0 ? null : new ProcessMemory(processBytes);
    other = MemoryLimit.shared(limitBytes, process);
    otherBudget = new MemoryBudget(other);
    while (process != null && otherBudget.tryReserveOwn(KIB)) {}
    peers = new MemoryPeers(limitBytes, setup, hasStreams, process);
    honestUnit = (int) peers.limit.reserveBytes() / 512;
    peers.lossPercent = (setup >> 2 & 3) * 5;
    peers.jitterUs = 1 + (setup >> 4 & 3) * 10_000;
  }

  /** One server. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    run(bytes);
  }

  /** Tells how much was done. */
  public static void fuzzerTearDown() {
    System.out.printf(
        "%,d datagrams, %,d honest clients, %,d sessions that the server has ended%n",
        datagrams, honest, again);
  }

  /** The same; returns how many honest clients are done. */
  static int run(byte[] bytes) {
    MemoryFuzz fuzz = new MemoryFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
      fuzz.checkHeld();
    }
    int done = fuzz.finish();
    fuzz.close();
    datagrams += fuzz.peers.datagrams;
    return done;
  }

  static long datagrams() {
    return datagrams;
  }

  private void step() {
    int op = input.unsignedByte();
    int kind = op >> 4;
    if (hasStreams && (op & 15) == 2) {
      forgeStreams(kind);
      return;
    }
    switch (op & 15) {
      case 0 -> forgeSessions(kind);
      case 1, 2 -> forgeRun(forgedAddress(), 1 + kind, 0);
      case 3 -> forgeFrames(kind);
      case 4, 5 ->
          withClient(false, client -> forgeRun(client.address, client.conv, client.rcvNxt));
      case 6 -> connect(false, kind);
      case 7, 8 -> connect(true, kind);
      case 9 -> withClient(true, client -> send(client, kind));
      case 10 -> withClient(false, client -> send(client, kind));
      case 11 -> peers.run((1_000L * input.unsignedByte()) << (kind & 3));
      case 12 -> withClient(kind < 8, client -> peers.server.unread.add(client.address));
      case 13 -> noise(kind);
      case 14 -> replay(kind);
      default -> withClient(false, client -> client.isSilent = kind < 12);
    }
  }

  private void checkHeld() {
    int validated = peers.server.validatedSessions();
    int streams = hasStreams ? peers.server.validatedStreams() : 0;
    long minBytes = (long) validated * MIN_QUEUE_BYTES + (long) streams * MIN_KEPT_BYTES;
    long usedBytes = peers.budget.usedBytes();
    Check.that(
        usedBytes <= peers.limit.limitBytes() + minBytes,
        () -> "charged " + usedBytes + " with " + validated + " sessions, " + streams + " streams");
    Check.that(
        peers.allocator.usedBytes() <= usedBytes + TABLE_BYTES,
        () -> "holds " + peers.allocator.usedBytes() + ", charged " + usedBytes);
    if (process != null) {
      long allBytes = usedBytes + otherBudget.usedBytes();
      Check.that(
          allBytes <= processBytes + peers.limit.reserveBytes() + minBytes,
          () -> "the process has " + allBytes + " with " + validated + " sessions");
    }
  }

  private int finish() {
    for (MemoryClient client : peers.clients) {
      client.isSilent = !client.isHonest;
    }
    peers.server.readAll();
    long patienceUs = peers.nowUs + PATIENCE_US;
    long endUs = peers.nowUs + END_US;
    while (!isDone() && peers.nowUs < endUs) {
      peers.step(endUs);
      checkHeld();
      beginAgain(peers.nowUs >= patienceUs);
    }
    int done = 0;
    for (MemoryClient client : peers.clients) {
      if (client.isHonest) {
        client.check();
        Check.that(client.isDone(), () -> "stuck: " + client);
        done++;
      }
    }
    honest += done;
    return done;
  }

  private boolean isDone() {
    return peers.clients.stream().allMatch(client -> !client.isHonest || client.isDone());
  }

  /** Honest clients begin other sessions for those that the server has ended. */
  private void beginAgain(boolean isPatienceOver) {
    for (MemoryClient client : peers.clients.toArray(MemoryClient[]::new)) {
      boolean isGivenUp = client.end != null || (client.wasEvicted && isPatienceOver);
      if (client.isHonest && !client.isDone() && isGivenUp) {
        client.check();
        client.again();
        again++;
      }
    }
  }

  private void close() {
    peers.close();
    if (process != null) {
      long heldBytes = MemoryUse.borrowedBytes(other);
      long leftBytes = MemoryUse.processRoomBytes(other);
      Check.that(
          heldBytes + leftBytes == processBytes, "the process has memory when all is closed");
    }
  }

  // Clients

  private interface Action {
    void of(MemoryClient client);
  }

  private void withClient(boolean isHonest, Action action) {
    int which = input.unsignedByte();
    long count = count(isHonest);
    if (count > 0) {
      action.of(
          peers.clients.stream()
              .filter(client -> client.isHonest == isHonest)
              .skip(which % count)
              .findFirst()
              .orElseThrow());
    }
  }

  private long count(boolean isHonest) {
    return peers.clients.stream().filter(client -> client.isHonest == isHonest).count();
  }

  /** Some clients of one kind, of a network each or of one together. */
  private void connect(boolean isHonest, int kind) {
    int first = input.unsignedByte();
    for (int i = kind & 3; i >= 0; i--) {
      if (count(isHonest) < (isHonest ? MAX_HONEST : MAX_HOSTILE)) {
        int host = (isHonest ? HONEST_HOSTS : HOSTILE_HOSTS) + ((kind & 4) == 0 ? hosts : 0);
        InetSocketAddress address = MemoryPeers.address(host, 1_000 + hosts);
        int conv = first + 256 * ++hosts; // None that is forged.
        MemoryClient client = new MemoryClient(peers, address, conv, isHonest);
        peers.add(client);
        send(client, kind >> 3);
      }
    }
  }

  private void send(MemoryClient client, int kind) {
    int size = 1 + input.unsignedByte();
    int bytes = size * honestUnit;
    int answerBytes = (kind & 1) == 0 ? 1 : input.unsignedByte() * 10;
    int requests = peers.hasStreams(client.conv) ? 1 + size % MAX_STREAMS : 1;
    for (int i = 0; i < requests; i++) {
      client.send(kind & 7, (bytes / requests) >> (kind & 3), answerBytes);
    }
  }

  // Datagrams that nobody has sent

  private InetSocketAddress forgedAddress() {
    int host = input.unsignedByte();
    if (host >= 0xe0 && !peers.clients.isEmpty()) { // The address of a client.
      return peers.clients.get(host % peers.clients.size()).address;
    }
    return MemoryPeers.address(FORGED_HOSTS + host, 9);
  }

  private static ByteBuf push(int conv, int sn, int frg, int una, int bytes) {
    ByteBuf push = Unpooled.buffer(Segment.HEADER_BYTES + bytes);
    Segment.write(push, conv, Segment.PUSH, frg, 128, 0, sn, una, bytes);
    return push;
  }

  /** First datagrams of several peers, each of them twice, which ask for an answer. */
  private void forgeSessions(int kind) {
    int host = FORGED_HOSTS + 256 * input.unsignedByte();
    int bytes = SIZES[input.below(SIZES.length)];
    for (int i = input.below(MAX_BURST); i >= 0; i--) {
      InetSocketAddress address = MemoryPeers.address(host + i, 9);
      for (int copy = 0; copy < 2; copy++) {
        ByteBuf first = push(kind, 0, 0, 0, bytes);
        for (int at = 0; at < bytes; at++) {
          first.writeByte(at < 4 ? 0 : 0x7f);
        }
        peers.forge(address, first);
      }
    }
    peers.endBatch();
  }

  /** Segments of one session: in order, with gaps, or parts of messages. */
  private void forgeRun(InetSocketAddress address, int conv, int next) {
    int shape = input.unsignedByte();
    int sn = next + input.signedByte() * (shape >> 6);
    int stride = STRIDES[shape & 3];
    int frg = (shape & 4) == 0 ? 0 : input.unsignedByte();
    int bytes = SIZES[(shape >> 3 & 7) % SIZES.length];
    for (int i = input.below(MAX_BURST); i >= 0; i--) {
      peers.forge(address, push(conv, sn, frg, 0, bytes).writeZero(bytes));
      sn += stride;
      frg = Math.max(0, frg - 1);
    }
    peers.endBatch();
  }

  /** Frames of lanes, well formed or not, several times with other numbers. */
  private void forgeFrames(int kind) {
    ByteBuf frames = Unpooled.buffer();
    for (int i = kind & 3; i >= 0; i--) {
      forgeFrame(frames);
    }
    InetSocketAddress[] address = {forgedAddress()};
    int[] conv = {2};
    int[] sn = {input.signedByte()};
    if ((kind & 4) != 0) {
      withClient(
          false,
          client -> {
            address[0] = client.address;
            conv[0] = client.conv;
            sn[0] += client.rcvNxt;
          });
    }
    int repeats = (kind & 8) == 0 ? 0 : input.below(MAX_BURST);
    for (int i = 0; i <= repeats; i++) {
      ByteBuf push = push(conv[0], sn[0] + i, 0, 0, frames.readableBytes());
      peers.forge(address[0], push.writeBytes(frames.duplicate()));
    }
    peers.endBatch();
  }

  private void forgeFrame(ByteBuf out) {
    int kind = input.unsignedByte();
    if (kind >= 240) {
      out.writeBytes(input.take(input.below(12)));
      return;
    }
    int type = kind & 7;
    boolean isMessage = type == 1 || type == 2;
    int flags = isMessage ? kind & 0x78 : 0;
    int lane = input.unsignedByte();
    for (int i = isMessage ? input.below(40) : 0; i >= 0; i--) { // Many tiny ones in a segment.
      out.writeByte(type | flags).writeByte(lane & 0x7f);
      switch (type) {
        case 1, 2 -> forgeMessage(out, flags, i);
        case 3, 6, 7 -> out.writeIntLE(input.signedByte());
        case 4 -> out.writeIntLE(input.signedByte()).writeByte(input.below(100));
        default -> {}
      }
      lane += kind >> 7;
    }
  }

  private void forgeMessage(ByteBuf out, int flags, int number) {
    if ((flags & 0x20) != 0) {
      out.writeIntLE(number * 1_500);
    } else if ((flags & 0x08) != 0) {
      out.writeByte(number);
    } else {
      out.writeShortLE(number * 1_500);
    }
    if ((flags & 0x10) != 0) { // The size of all of it.
      out.writeByte(0x80 | input.below(128)).writeByte(0x80 | number).writeByte(1);
      out.writeByte(input.below(100));
    }
    if ((flags & 0x40) != 0) {
      int length = input.below(20);
      out.writeByte(length).writeZero(length);
    }
  }

  /**
   * Frames of smux, well formed or not: as those of a hostile client, or in forged segments that
   * begin sessions.
   */
  private void forgeStreams(int kind) {
    ByteBuf frames = Unpooled.buffer();
    int length = input.unsignedByte() >> (kind & 3);
    int id = input.signedByte();
    int command = input.unsignedByte();
    for (int i = input.unsignedByte(); i >= 0; i--) {
      forgeStreamFrame(frames, (command >> ((i & 1) * 3)) & 7, id, length);
      id += command >> 6;
    }
    if ((kind & 4) != 0) {
      withClient(false, client -> client.sendRaw(frames));
      return;
    }
    int most = (kind & 8) == 0 ? 500 : 1_100;
    InetSocketAddress address = forgedAddress();
    for (int sn = 0; frames.isReadable(); sn++) {
      int bytes = Math.min(most, frames.readableBytes());
      peers.forge(address, push(FORGED_STREAMS, sn, 0, 0, bytes).writeBytes(frames, bytes));
    }
    peers.endBatch();
  }

  private void forgeStreamFrame(ByteBuf out, int command, int id, int length) {
    byte[] payload =
        switch (command) {
          case 2, 6 -> new byte[length]; // PSH
          case 4 -> new byte[] {(byte) length, 0, 0, 0, 0, (byte) length, 0, 0}; // UPD
          case 5 -> input.take(length & 7);
          default -> NO_BYTES; // SYN, FIN, NOP
        };
    int type = command == 6 ? 2 : command == 7 ? 0 : command;
    out.writeByte(2).writeByte(type).writeShortLE(payload.length).writeIntLE(id);
    out.writeBytes(payload);
  }

  /** Probes, acknowledgements and what is no segment at all. */
  private void noise(int kind) {
    InetSocketAddress address = forgedAddress();
    int value = input.integer();
    for (int i = input.below(MAX_BURST); i >= 0; i--) {
      ByteBuf datagram = Unpooled.buffer(64);
      switch (kind & 3) {
        case 0 -> Segment.write(datagram, kind, Segment.WASK, 0, 9, 0, 0, 0, 0);
        case 1 -> Segment.write(datagram, kind, Segment.ACK, 0, 9, value, i, value & 7, 0);
        case 2 -> Segment.write(datagram, kind + i, Segment.WINS, 0, 9, value, 0, 0, 0);
        default -> datagram.writeInt(value).writeZero(i);
      }
      peers.forge(address, datagram);
    }
    peers.endBatch();
  }

  private void replay(int kind) {
    for (int i = kind; i >= 0; i--) {
      peers.replay(input.unsignedByte());
    }
    peers.endBatch();
  }
}
