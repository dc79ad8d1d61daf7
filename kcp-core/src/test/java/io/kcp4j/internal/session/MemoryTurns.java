package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.internal.memory.MemoryAccount;
import io.kcp4j.internal.memory.MemoryLimit;
import io.netty.buffer.Unpooled;
import java.util.HashSet;
import java.util.Set;

/** A server with a small memory limit, and clients that wait for turns to use the reserve. */
abstract class MemoryTurns {

  static final int MIB = 1 << 20;

  static final int SMALL_BYTES = 8 * 1024;

  /** The payload of a fragment, in bytes. */
  static final int FRAGMENT_BYTES = 1_300;

  final MemoryLimit limit = MemoryLimit.shared(2 * MIB);
  final Crowd crowd =
      new Crowd(
          limit,
          KcpConfig.builder()
              .delivery(Delivery.MESSAGE)
              .receiveWindow(512)
              .sendWindow(512)
              .build());

  /** Memory that belongs to no session of the crowd. */
  final MemoryAccount others = MemoryAccount.of(crowd.budget);

  /** A client that the server has sent a byte, so that its path is validated. */
  Crowd.Client connect(int host, int port) {
    Set<Session> answered = new HashSet<>();
    crowd.onRead =
        session -> {
          if (crowd.received.containsKey(session.remote()) && answered.add(session)) {
            session.kcp().send(Unpooled.buffer().writeByte(1));
          }
        };
    Crowd.Client client = crowd.client(host, port).send(10);
    crowd.run(100);
    crowd.onRead = session -> {};
    assertTrue(client.serverSession().path().isValidated());
    charge(client, SMALL_BYTES); // A network that holds nothing does not have to wait.
    return client;
  }

  /** The network of a client holds so much more. */
  void charge(Crowd.Client client, int bytes) {
    MemoryAccount network = MemoryAccount.of(crowd.budget);
    network.network(memory(client).network());
    network.charge(bytes);
  }

  Crowd.Client connect(int host) {
    return connect(host, host);
  }

  /** Others take all that sessions without the reserve may have. */
  void fill() {
    for (int most = 2 * MIB; most > 0; ) {
      most = others.tryReserve(most) ? most : most / 2;
    }
  }

  /** Fragments of a message that begins with sequence number 1, in one batch. */
  void sendFragments(Crowd.Client to, int first, int last, int ofMessage) {
    for (int sn = first; sn <= last; sn++) {
      int port = to.address.getPort();
      crowd.forge(host(to), port, sn, ofMessage - sn, FRAGMENT_BYTES);
    }
  }

  static int host(Crowd.Client client) {
    return client.address.getAddress().getAddress()[3];
  }

  /** A client that has sent a part of a message and has the reserve. */
  Crowd.Client holder(int host) {
    Crowd.Client holder = connect(host);
    fill();
    sendFragments(holder, 1, 60, 120);
    crowd.run(1);
    sendFragments(holder, 1, 60, 120);
    crowd.run(1);
    assertTrue(hasReserve(holder));
    return holder;
  }

  static MemoryAccount memory(Crowd.Client client) {
    return client.serverSession().kcp().memory();
  }

  static boolean hasReserve(Crowd.Client client) {
    return memory(client).hasReserve();
  }

  long received(Crowd.Client client) {
    return crowd.received.getOrDefault(client.address, 0L);
  }
}
