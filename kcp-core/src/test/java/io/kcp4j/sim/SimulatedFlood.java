package io.kcp4j.sim;

import io.kcp4j.EndReason;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.fec.FecPacket;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.BiConsumer;

/**
 * First packets from forged addresses, which acknowledge nothing, to the server of {@link
 * SimulatedEndpoints}. Some are repeated, some go on, and some offer the extension. Validated
 * sessions come to no harm, and no such address is sent more than the amplification limit allows.
 */
final class SimulatedFlood {

  private static final long OWN_RANDOM = 0x464c_4f4f_44L;

  /** One run in so many has a flood. */
  private static final int ONE_IN = 4;

  private static final int MAX_VICTIMS = 300;
  private static final int MAX_PACKETS_OF_VICTIM = 4;
  private static final int MAX_GAP_MS = 1500;
  private static final int MAX_PAYLOAD_BYTES = 300;
  private static final int MAX_RESPONSE_BYTES = 20_000;
  private static final int OFFER_BYTES = 13;

  /** Beyond three bytes for each one received, a session may send so many small segments. */
  private static final int SMALL_SEGMENTS = 8;

  private static final int SMALL_BYTES = 64 + FecPacket.DATA_HEADER_BYTES;

  /** A forged address. */
  private static final class Victim {
    final InetSocketAddress address;
    final int conv;
    long receivedBytes;
    long sentBytes;
    int sessions;

    Victim(InetSocketAddress address, int conv) {
      this.address = address;
      this.conv = conv;
    }
  }

  private final SplittableRandom random;
  private final long payloadSeed;
  private final int payloadBytes;
  private final Map<InetSocketAddress, Victim> victims = new HashMap<>();
  private final Map<Integer, Victim> victimsByConv = new HashMap<>();
  private int sessions;

  private SimulatedFlood(SplittableRandom random) {
    this.random = random;
    payloadSeed = random.nextLong();
    payloadBytes = 1 + random.nextInt(MAX_PAYLOAD_BYTES);
  }

  /** The flood of a run, or null for none. */
  static SimulatedFlood draw(long seed) {
    SplittableRandom random = new SplittableRandom(seed ^ OWN_RANDOM);
    return random.nextInt(ONE_IN) == 0 ? new SimulatedFlood(random) : null;
  }

  /** How many sessions the server has room for, which may be fewer than those that give way. */
  int drawMaxSessions(int maxSessions) {
    return random.nextBoolean() ? maxSessions : maxSessions + random.nextInt(64);
  }

  /** How many sessions of the server may be unvalidated. */
  int drawUnvalidatedLimit() {
    return 1 + random.nextInt(64);
  }

  /**
   * Schedules the packets.
   *
   * @param withinMs when the last address is used first
   * @param send takes packets that are not sealed
   */
  void schedule(VirtualTime time, int withinMs, BiConsumer<InetSocketAddress, ByteBuf> send) {
    int beginMs = random.nextInt(withinMs);
    int durationMs = 1 + random.nextInt(withinMs - beginMs);
    for (int i = 1 + random.nextInt(MAX_VICTIMS); i > 0; i--) {
      Victim victim = new Victim(address(i), random.nextInt());
      victims.put(victim.address, victim);
      victimsByConv.put(victim.conv, victim);
      boolean offers = random.nextBoolean();
      boolean goesOn = random.nextBoolean();
      int atMs = beginMs + random.nextInt(durationMs);
      for (int k = random.nextInt(MAX_PACKETS_OF_VICTIM); k >= 0; k--) {
        int sn = goesOn ? k : 0;
        time.afterMs(
            atMs + k * MAX_GAP_MS, () -> send.accept(victim.address, push(victim, sn, offers)));
      }
    }
  }

  private ByteBuf push(Victim victim, int sn, boolean offers) {
    ByteBuf packet = Unpooled.buffer(2048);
    Segment.write(packet, victim.conv, Segment.PUSH, 0, 64, 0, sn, 0, payloadBytes);
    Payload bytes = payload();
    ByteBuf before = Unpooled.buffer();
    bytes.write(before, sn * payloadBytes);
    bytes.write(packet, payloadBytes);
    if (offers) {
      Segment.write(packet, victim.conv, Segment.WINS, 0, 64, 0, 0, 0, OFFER_BYTES);
      packet.writeByte(0x4b).writeByte(1).writeByte(1).writeShortLE(8).writeLongLE(victim.conv);
    }
    return packet;
  }

  /** What each address sends. */
  private Payload payload() {
    return new Payload(new SplittableRandom(payloadSeed));
  }

  /** A packet of so many bytes arrives at the server. */
  void arrives(InetSocketAddress from, int bytes) {
    victims.get(from).receivedBytes += bytes;
  }

  /** Whether a session of this conversation is one of the flood. */
  boolean contains(int conv) {
    return victimsByConv.containsKey(conv);
  }

  /** The server's side of a session. */
  SimulatedConversation accept(int conv, KcpConfig config) {
    sessions++;
    victimsByConv.get(conv).sessions++;
    UnreliableTraffic none = new UnreliableTraffic(conv, 0);
    return new SimulatedConversation(
        conv,
        config,
        SimulatedLayers.drawFec(random),
        0,
        none,
        none,
        random.nextInt(MAX_RESPONSE_BYTES),
        new Payload(random.split()),
        Long.MAX_VALUE,
        payload(),
        random.split(),
        () -> {});
  }

  /** How many sessions it has begun. */
  int sessions() {
    return sessions;
  }

  /** A session of it has ended. */
  void ended(EndReason reason) {
    Check.that(
        reason == EndReason.EVICTED || reason == EndReason.HANDSHAKE_TIMEOUT,
        () -> "a session of the flood ended: " + reason);
  }

  /**
   * The server has sent a packet.
   *
   * @param bytes the size of the sealed packet
   * @return whether it went to a forged address
   */
  boolean takes(InetSocketAddress to, PlainPacket packet, int bytes) {
    Victim victim = victims.get(to);
    if (victim == null) {
      return false;
    }
    int sealBytes = bytes - packet.bytes().length;
    if (!packet.isProbe()) { // Probes may exceed the limit, also those that share a packet.
      int probeBytes = packet.probeBytes();
      victim.sentBytes += bytes - (probeBytes > 0 ? probeBytes + sealBytes : 0);
    }
    long smallBytes = (long) SMALL_SEGMENTS * (SMALL_BYTES + sealBytes) * victim.sessions;
    Check.that(
        victim.sentBytes <= 3 * victim.receivedBytes + smallBytes,
        () -> victim.sentBytes + " bytes for " + victim.receivedBytes + " of a forged address");
    return true;
  }

  private InetSocketAddress address(int number) {
    byte[] bytes = {10, (byte) (1 + random.nextInt(3)), (byte) random.nextInt(256), (byte) number};
    try {
      return new InetSocketAddress(InetAddress.getByAddress(bytes), 1 + number);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }
}
