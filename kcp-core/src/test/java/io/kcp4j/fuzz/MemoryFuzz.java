package io.kcp4j.fuzz;

import io.kcp4j.EndReason;
import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;

/**
 * A server with little memory, and any number of peers: forged ones, whose datagrams come from
 * anywhere and who receive nothing; hostile ones, whose addresses are real; and honest ones, over a
 * network that loses and reorders. They send to streams, messages and lanes: parts of messages,
 * data beyond gaps, malformed frames, requests for large answers, and replays. What is held stays
 * below the limit plus what each session may always queue. When the attack ends, all honest
 * messages arrive, unless the server has ended their session by name.
 */
public final class MemoryFuzz {

  private static final int KIB = 1024;
  private static final int[] LIMITS = {256 * KIB, 512 * KIB, 1024 * KIB, 2048 * KIB};
  private static final int[] SIZES = {0, 1, 10, 100, 500, 1_100};

  /** Sequence numbers are this far apart. */
  private static final int[] STRIDES = {0, 1, 2, 17};

  private static final int MAX_BURST = 64;
  private static final int MAX_HONEST = 24;
  private static final int MAX_HOSTILE = 16;
  private static final int FORGED_HOSTS = 0x10000;
  private static final int HOSTILE_HOSTS = 0x20000;
  private static final int HONEST_HOSTS = 0x30000;

  /** A session that has nothing else to send may queue this, whatever the limit is. */
  private static final int MIN_QUEUE_BYTES = 2 * KIB;

  /** Buffers of the table itself, and the part of a buffer beyond what is charged. */
  private static final int TABLE_BYTES = 64 * KIB;

  private static final long END_US = 300_000_000;

  private static long datagrams;
  private static long honest;
  private static long ended;

  private final FuzzInput input;
  private final MemoryPeers peers;
  private final int honestUnit;
  private int hosts;

  private MemoryFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    int setup = input.unsignedByte();
    peers = new MemoryPeers(LIMITS[setup & 3], setup);
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
        "%,d datagrams, %,d honest sessions, %,d of them ended by name%n",
        datagrams, honest, ended);
  }

  /** The same; returns how many honest clients are done. */
  static int run(byte[] bytes) {
    MemoryFuzz fuzz = new MemoryFuzz(bytes);
    while (!fuzz.input.isAtEnd()) {
      fuzz.step();
      fuzz.checkHeld();
    }
    int done = fuzz.finish();
    fuzz.peers.close();
    datagrams += fuzz.peers.datagrams;
    return done;
  }

  private void step() {
    int op = input.unsignedByte();
    int kind = op >> 4;
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
      case 12 -> withClient(kind < 8, client -> peers.unread.add(client.address));
      case 13 -> noise(kind);
      case 14 -> replay(kind);
      default -> withClient(false, client -> client.isSilent = kind < 12);
    }
  }

  private void checkHeld() {
    int validated = peers.validatedSessions();
    long mostBytes = peers.limit.limitBytes() + (long) validated * MIN_QUEUE_BYTES;
    Check.that(
        peers.budget.usedBytes() <= mostBytes,
        "charged " + peers.budget.usedBytes() + " with " + validated + " sessions");
    Check.that(
        peers.allocator.usedBytes() <= peers.budget.usedBytes() + TABLE_BYTES,
        "holds " + peers.allocator.usedBytes() + ", charged " + peers.budget.usedBytes());
  }

  private int finish() {
    for (MemoryPeers.Client client : peers.clients) {
      client.isSilent = !client.isHonest;
    }
    peers.readAll();
    long endUs = peers.nowUs + END_US;
    while (!isDone() && peers.nowUs < endUs) {
      peers.step(endUs);
      checkHeld();
    }
    int done = 0;
    for (MemoryPeers.Client client : peers.clients) {
      if (client.isHonest) {
        client.check();
        boolean isEnded = isEndedByName(client);
        Check.that(client.isDone() || isEnded, "stuck: " + client);
        done += client.isDone() ? 1 : 0;
        honest++;
        ended += isEnded ? 1 : 0;
      }
    }
    return done;
  }

  private boolean isDone() {
    for (MemoryPeers.Client client : peers.clients) {
      if (client.isHonest && !client.isDone() && !isEndedByName(client)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isEndedByName(MemoryPeers.Client client) {
    return client.wasEvicted || client.serverEnd == EndReason.MEMORY_SHORTAGE;
  }

  // Clients

  private interface Action {
    void of(MemoryPeers.Client client);
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
        send(peers.new Client(address, conv, isHonest), kind >> 3);
      }
    }
  }

  private void send(MemoryPeers.Client client, int kind) {
    int bytes = (1 + input.unsignedByte()) * honestUnit;
    int answerBytes = (kind & 1) == 0 ? 1 : input.unsignedByte() * 10;
    client.send(kind & 7, bytes >> (kind & 3), answerBytes);
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
