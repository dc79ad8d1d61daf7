package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * How much later an honest client gets its answers while others attack the memory of the server, in
 * virtual time.
 */
class AttackDelayTest {

  private static final int MIB = 1 << 20;

  /** Each of 50 rounds takes 20 ms. */
  private static final int ROUNDS = 50;

  private static final int ROUND_MS = 20;

  /** The sessions of an attack that begin in a round. */
  private static final int PEERS = 5;

  private static final int FORGED_PORT = 9_999;

  /** Timers have a granularity of 1 ms. */
  private static final long MOST_DELAY_US = 2_000;

  private static final long ROUND_TRIP_US = 20_000;

  private static final String LANES_OFFER =
      "4b01" + "0108008877665544332211" + "0f0600000400004000";

  /** What hostile peers send. */
  private enum Attack {
    FRAGMENTS_ON_LANES(Delivery.LANES) {
      @Override
      void send(Crowd crowd, int round) {
        for (InetSocketAddress peer : beginLanes(crowd, round)) {
          ByteBuf frames = Unpooled.buffer();
          for (int lane = 0; lane < 8; lane++) {
            frames.writeBytes(new byte[] {1 | 0x70, (byte) lane, 0, 0, 0, 0});
            frames.writeBytes(ByteBufUtil.decodeHexDump("e0fd1f" + "987501" + "00"));
          }
          crowd.forge(peer, push(1, frames));
        }
      }
    },
    MALFORMED_SEGMENTS_OF_LANES(Delivery.LANES) {
      @Override
      void send(Crowd crowd, int round) {
        for (InetSocketAddress peer : beginLanes(crowd, round)) {
          for (int sn = 1; sn < 10; sn++) {
            ByteBuf frames = Unpooled.buffer();
            for (int lane = 0; lane < 120; lane++) {
              frames.writeByte(1 | 0x60).writeByte(lane).writeIntLE(65_000).writeByte(0);
            }
            crowd.forge(peer, push(sn, frames.writeByte(0xff)));
          }
        }
      }
    },
    NUMBERS_FAR_AHEAD(Delivery.LANES) {
      @Override
      void send(Crowd crowd, int round) {
        for (InetSocketAddress peer : beginLanes(crowd, round)) {
          ByteBuf frames = Unpooled.buffer();
          for (int lane = 0; lane < 8; lane++) {
            frames.writeByte(1 | 0x60).writeByte(lane).writeIntLE(5_000).writeByte(0);
          }
          crowd.forge(peer, push(1, frames));
        }
      }
    },
    PARTS_OF_MESSAGES(Delivery.MESSAGE) {
      @Override
      void send(Crowd crowd, int round) {
        for (int i = 0; i < PEERS; i++) {
          for (int sn = 0; sn < 40; sn++) {
            crowd.forge(peer(round, i), sn, 126 - sn, 1_300);
          }
        }
      }
    },
    DATA_BEYOND_GAPS(Delivery.STREAM) {
      @Override
      void send(Crowd crowd, int round) {
        for (int i = 0; i < PEERS; i++) {
          crowd.forge(peer(round, i), 0, 0, 10);
          for (int sn = 2; sn < 40; sn++) {
            crowd.forge(peer(round, i), sn, 0, 1_300);
          }
        }
      }
    },
    REQUESTS_OF_LARGE_ANSWERS(Delivery.STREAM) {
      @Override
      void begin(Crowd crowd) {
        answer(crowd, session -> session.remote().getPort() == FORGED_PORT);
      }

      @Override
      void send(Crowd crowd, int round) {
        for (int i = 0; i < PEERS; i++) {
          crowd.forge(peer(round, i), 0, 0, 10);
        }
      }
    },
    /** The peers are validated. */
    PARTS_OF_MESSAGES_OF_ONE_ADDRESS(Delivery.MESSAGE) {
      @Override
      void send(Crowd crowd, int round) {
        int port = 1 + round;
        crowd.client(2, port).ping();
        if (round > 10) {
          for (int sn = 100; sn < 200; sn++) {
            crowd.forge(2, port - 10, sn, 120, 1_300);
          }
        }
      }
    },
    /**
     * The peers are validated, and acknowledge nothing of what they have asked for. A session can
     * always send a segment; the next one waits until that is acknowledged.
     */
    LARGE_ANSWERS_TO_ONE_ADDRESS(Delivery.STREAM, ROUND_TRIP_US) {
      @Override
      void begin(Crowd crowd) {
        answer(crowd, session -> session.remote().getPort() < 1 + ROUNDS);
      }

      @Override
      void send(Crowd crowd, int round) {
        crowd.client(2, 1 + round).ping();
        if (round > 10) {
          crowd.disconnect(2, round - 9);
        }
      }
    };

    private final Delivery delivery;

    /** By how much a small message of another session may be later. */
    private final long mostDelayUs;

    Attack(Delivery delivery) {
      this(delivery, MOST_DELAY_US);
    }

    Attack(Delivery delivery, long mostDelayUs) {
      this.delivery = delivery;
      this.mostDelayUs = mostDelayUs;
    }

    void begin(Crowd crowd) {}

    abstract void send(Crowd crowd, int round);
  }

  private static InetSocketAddress peer(int round, int i) {
    return Crowd.address(1_000 + round * PEERS + i, FORGED_PORT);
  }

  /** Lets the server answer some sessions by 8 MiB. */
  private static void answer(Crowd crowd, Predicate<Session> sessions) {
    ByteBuf answer = zeros(8 * MIB);
    Map<Session, ByteBuf> answers = new HashMap<>();
    crowd.onRead =
        session -> {
          if (sessions.test(session)) {
            session.kcp().send(answers.computeIfAbsent(session, s -> answer.duplicate()));
          }
        };
  }

  private static ByteBuf zeros(int bytes) {
    return Unpooled.buffer(bytes).writeZero(bytes);
  }

  private static ByteBuf push(int sn, ByteBuf payload) {
    ByteBuf out = Unpooled.buffer();
    Segment.write(out, 77, Segment.PUSH, 0, 128, 0, sn, 0, payload.readableBytes());
    return out.writeBytes(payload);
  }

  private static List<InetSocketAddress> beginLanes(Crowd crowd, int round) {
    List<InetSocketAddress> peers = new ArrayList<>();
    for (int i = 0; i < PEERS; i++) {
      ByteBuf offer = Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(LANES_OFFER));
      ByteBuf out = push(0, zeros(1));
      Segment.write(out, 77, Segment.WINS, 0, 128, 0, 0, 0, offer.readableBytes());
      crowd.forge(peer(round, i), out.writeBytes(offer));
      peers.add(peer(round, i));
    }
    return peers;
  }

  private static Crowd crowd(Delivery delivery) {
    return new Crowd(4 * MIB, KcpConfig.builder().delivery(delivery).receiveWindow(512).build());
  }

  /** The longest time that a small message of an honest client and its echo take. */
  private static long mostDelayUs(Crowd crowd, Attack attack, int rounds) {
    Crowd.Client honest = crowd.client(200_000).ping();
    crowd.run(500);
    honest.delaysUs.clear();
    attack.begin(crowd);
    for (int round = 0; round < ROUNDS; round++) {
      if (round < rounds) {
        attack.send(crowd, round);
      }
      crowd.run(ROUND_MS);
    }
    assertFalse(crowd.ends.containsKey(honest.address));
    assertTrue(honest.delaysUs.size() >= ROUNDS - 2, honest.delaysUs.size() + " echoes");
    return honest.delaysUs.stream().mapToLong(us -> us).max().getAsLong();
  }

  @ParameterizedTest
  @EnumSource
  void messagesOfASessionThatHasBegunAreHardlyDelayed(Attack attack) {
    long without = mostDelayUs(crowd(attack.delivery), attack, 0);
    Crowd crowd = crowd(attack.delivery);
    long with = mostDelayUs(crowd, attack, ROUNDS);
    assertTrue(with <= without + attack.mostDelayUs, with + " µs, without the attack " + without);
    assertTrue(crowd.mostBytes <= 4 * MIB, "held " + crowd.mostBytes);
  }

  /**
   * The attack has used up what unvalidated sessions may hold, and the first session to be evicted
   * for a new one is 200 ms old.
   */
  @ParameterizedTest
  @EnumSource
  void newClientsAreServedWithinTwoSeconds(Attack attack) {
    Crowd crowd = crowd(attack.delivery);
    attack.begin(crowd);
    List<Crowd.Client> clients = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      if (round % 10 == 9) {
        clients.add(crowd.client(200_000 + round).ping());
      }
      attack.send(crowd, round);
      crowd.run(ROUND_MS);
    }
    crowd.run(2_000);
    for (Crowd.Client client : clients) {
      assertFalse(client.delaysUs.isEmpty(), client.address + " has had no echo");
      assertTrue(client.delaysUs.get(0) <= 2_000_000, "first echo after " + client.delaysUs.get(0));
    }
  }
}
