package io.kcp4j.examples;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.examples.LossyRelay.Conditions;
import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LossyRelayTest {

  private static final int DATAGRAMS = 100;

  /** How long to wait for a datagram before another is sent, in milliseconds. */
  private static final int PAUSE_MS = 10;

  @Test
  void networkWithoutImpairmentsChangesNothing() throws IOException {
    List<Integer> arrived = arrivalsThrough(new Conditions(1500, 0, 0, 0, 0, 1));
    assertEquals(range(), arrived);
  }

  @Test
  void jitterReorders() throws IOException {
    List<Integer> arrived = arrivalsThrough(new Conditions(0, 20_000, 0, 0, 0, 1));
    assertNotEquals(range(), arrived);
    assertEquals(range(), arrived.stream().sorted().toList());
  }

  @Test
  void datagramsArriveNoEarlierThanTheDelay() throws IOException {
    try (DatagramSocket server = socket();
        LossyRelay relay = new LossyRelay(addressOf(server), new Conditions(1500, 0, 0, 0, 0, 1));
        DatagramSocket client = socket()) {
      for (int i = 0; i < 10; i++) {
        long sentAtNs = System.nanoTime();
        send(client, relay.address(), i);
        assertEquals(i, numberOf(receive(server)));
        long delayNs = System.nanoTime() - sentAtNs;
        assertTrue(delayNs >= 1_500_000, "ns: " + delayNs);
      }
    }
  }

  @Test
  void lossHasTheConfiguredRateAndIsReproducible() throws IOException {
    List<Integer> first = arrivalsThrough(new Conditions(0, 0, 0.2, 0, 0, 7));
    assertEquals(0.8 * DATAGRAMS, first.size(), 0.1 * DATAGRAMS);
    assertEquals(first, arrivalsThrough(new Conditions(0, 0, 0.2, 0, 0, 7)));
    assertNotEquals(first, arrivalsThrough(new Conditions(0, 0, 0.2, 0, 0, 8)));
  }

  @Test
  void duplicatesArriveTwice() throws IOException {
    List<Integer> arrived = arrivalsThrough(new Conditions(0, 0, 0, 0, 0.2, 1));
    assertEquals(1.2 * DATAGRAMS, arrived.size(), 0.1 * DATAGRAMS);
    assertEquals(range(), new ArrayList<>(new TreeSet<>(arrived)));
  }

  @Test
  void reorderedDatagramsArriveAfterLaterOnes() throws IOException {
    List<Integer> arrived = arrivalsThrough(new Conditions(20_000, 0, 0, 0.2, 0, 1));
    assertNotEquals(range(), arrived);
    assertEquals(range(), arrived.stream().sorted().toList());
  }

  @Test
  void answersReachTheRightClient() throws IOException {
    try (DatagramSocket server = socket();
        LossyRelay relay = new LossyRelay(addressOf(server), new Conditions(0, 0, 0, 0, 0, 1));
        DatagramSocket one = socket();
        DatagramSocket other = socket()) {
      send(one, relay.address(), 1);
      send(other, relay.address(), 2);
      for (int i = 0; i < 2; i++) {
        DatagramPacket packet = receive(server);
        send(server, packet.getSocketAddress(), -numberOf(packet));
      }
      assertEquals(-1, numberOf(receive(one)));
      assertEquals(-2, numberOf(receive(other)));
      assertEquals(2 * Integer.BYTES, relay.bytesToServer());
    }
  }

  private static List<Integer> arrivalsThrough(Conditions conditions) throws IOException {
    List<Integer> arrived = new ArrayList<>();
    try (DatagramSocket server = socket();
        LossyRelay relay = new LossyRelay(addressOf(server), conditions);
        DatagramSocket client = socket()) {
      for (int i = 0; i < DATAGRAMS; i++) {
        send(client, relay.address(), i);
      }
      await().until(() -> relay.bytesToServer() == DATAGRAMS * Integer.BYTES);
      long inFlightNs = 2_000L * (conditions.delayUs() + conditions.jitterUs());
      long lastArrivesAtNs = System.nanoTime() + inFlightNs;
      server.setSoTimeout(PAUSE_MS);
      // What is sent after that, and arrives, arrives behind all that was sent before.
      int next = DATAGRAMS;
      int last = Integer.MAX_VALUE;
      do {
        if (last == Integer.MAX_VALUE && System.nanoTime() - lastArrivesAtNs > 0) {
          last = next;
        }
        send(client, relay.address(), next++);
      } while (!receiveUntil(last, server, arrived));
      assertFalse(arrived.isEmpty());
    }
    return arrived;
  }

  /** Receives for a while; returns whether a datagram from {@code last} on has arrived. */
  private static boolean receiveUntil(int last, DatagramSocket server, List<Integer> arrived)
      throws IOException {
    for (DatagramPacket packet; (packet = receive(server)) != null; ) {
      int number = numberOf(packet);
      if (number >= last) {
        return true;
      }
      if (number < DATAGRAMS) {
        arrived.add(number);
      }
    }
    return false;
  }

  private static List<Integer> range() {
    return java.util.stream.IntStream.range(0, DATAGRAMS).boxed().toList();
  }

  private static DatagramSocket socket() throws IOException {
    return new DatagramSocket(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
  }

  private static InetSocketAddress addressOf(DatagramSocket socket) {
    return (InetSocketAddress) socket.getLocalSocketAddress();
  }

  private static void send(DatagramSocket from, java.net.SocketAddress to, int number)
      throws IOException {
    byte[] data = ByteBuffer.allocate(Integer.BYTES).putInt(number).array();
    from.send(new DatagramPacket(data, data.length, to));
  }

  /** The next datagram, or null after the timeout. */
  private static DatagramPacket receive(DatagramSocket socket) throws IOException {
    DatagramPacket packet = new DatagramPacket(new byte[Integer.BYTES], Integer.BYTES);
    try {
      socket.receive(packet);
      return packet;
    } catch (SocketTimeoutException e) {
      return null;
    }
  }

  private static int numberOf(DatagramPacket packet) {
    return ByteBuffer.wrap(packet.getData()).getInt();
  }
}
