package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.extension.ExtensionMessage;
import io.kcp4j.internal.session.SessionTable.ResetTokens;
import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Packets that one socket of a server opens and forwards to another: they are decided on as if they
 * had arrived there (protocol.md 8.5), replays among them (8.10). Virtual time, with an AEAD and
 * the extension.
 */
class ForwardedReplayTest {

  private static final int REQUEST_BYTES = 10;
  private static final int STEP_US = 10_000;
  private static final KeyRing KEYS =
      KeyRing.of(
          PacketKey.of(
              CipherAlgorithm.AES_128_GCM, new byte[CipherAlgorithm.AES_128_GCM.keyBytes()]));

  private final SessionDirectory directory = SessionDirectory.ofSeveral(VirtualHost.MAX_SESSIONS);

  /** The socket at which the client's session begins. */
  private final VirtualHost home = socket(5);

  private final VirtualHost other = socket(6);
  private final VirtualHost client = new VirtualHost(1, KEYS);

  /** Forwarded packets that have not been received yet, if there is a list. */
  private List<Runnable> onTheirWay;

  private VirtualHost socket(long token) {
    VirtualHost socket = new VirtualHost(2, KEYS, directory);
    socket.token = token;
    socket.driver.table.resetTokens(new ResetTokens(new byte[ResetTokens.MIN_SECRET_BYTES]));
    socket.driver.onForward =
        (remote, packet, nonceBytes) -> {
          ByteBuf copy = packet.copy();
          Runnable arrival =
              () -> {
                socket.driver.table.receiveOpened(remote, copy, nonceBytes, socket.nowUs);
                socket.driver.table.endBatch(socket.nowUs);
              };
          if (onTheirWay == null) {
            arrival.run();
          } else {
            onTheirWay.add(arrival);
          }
        };
    return socket;
  }

  private void arrive() {
    List<Runnable> arrivals = onTheirWay;
    onTheirWay = null;
    arrivals.forEach(Runnable::run);
  }

  @BeforeEach
  void begin() {
    client.token = 0x1122_3344_5566_7788L;
    client.open(home);
    client.write(REQUEST_BYTES);
  }

  /** Passes everything between the client and its socket. */
  private void connect(int us) {
    for (int passedUs = 0; passedUs < us; passedUs += STEP_US) {
      home.take(client, client.packets());
      client.take(home, home.packetsTo(client));
      runAll(STEP_US);
    }
  }

  private void runAll(int us) {
    home.runTo(home.nowUs + us);
    other.runTo(home.nowUs);
    client.runTo(home.nowUs);
  }

  private int executed() {
    return (home.received + other.received) / REQUEST_BYTES;
  }

  /** What the client sends in a second without answers: the last packet has a query. */
  private ByteBuf recordQuery() {
    client.write(1);
    runAll(1_000_000);
    List<ByteBuf> unanswered = client.packets();
    connect(2_000_000);
    return unanswered.get(unanswered.size() - 1);
  }

  /** The request was executed once for each port that the system gave to the other socket. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void firstPacketFromACandidateAddressIsAReplay(boolean wasHeld) {
    List<ByteBuf> first = client.packets();
    List<ByteBuf> received = first;
    if (wasHeld) {
      while (client.count(KcpCounter.RETRANSMITTED) == 0) {
        runAll(STEP_US);
      }
      received = client.packets();
    }
    home.take(client, received);
    connect(1_000_000);
    ByteBuf query = recordQuery();
    for (int port = 100; port < 110; port++) {
      VirtualHost thief = new VirtualHost(port);
      other.take(thief, List.of(query));
      assertEquals(1, home.packetsTo(thief).size(), "challenge");
      other.take(thief, first);
    }
    assertEquals(1, executed());
    assertEquals(1, home.driver.table.size() + other.driver.table.size());
    assertEquals(10, home.count(KcpCounter.REPLAYED) + other.count(KcpCounter.REPLAYED));
  }

  /** The key of a session still belongs to its socket when that has just forgotten it. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void firstPacketForAForgottenSessionIsAReplay(boolean isUnderPressure) {
    List<ByteBuf> first = client.packets();
    home.take(client, first);
    home.driver.table.remove(home.session, home.nowUs);
    if (isUnderPressure) {
      home.driver.table.unvalidatedLimit(1);
    }
    home.nowUs += 60_000_000;
    other.nowUs = home.nowUs;
    other.take(client, first);
    assertEquals(1, other.count(KcpCounter.FORWARDED));
    assertEquals(1, executed());
    assertEquals(1, home.count(KcpCounter.REPLAYED));
  }

  @Test
  void firstPacketOnItsWayToARefusedAttemptIsAReplay() {
    List<ByteBuf> first = client.packets();
    home.driver.defersAccept = true;
    home.take(client, first);
    onTheirWay = new ArrayList<>();
    other.take(client, first);
    home.driver.deferred.get(0).refuse();
    home.driver.defersAccept = false;
    arrive();
    assertEquals(0, executed());
    assertEquals(1, home.count(KcpCounter.REPLAYED));
  }

  /** It arrives while the session is there: a duplicate, which harms nothing. */
  @Test
  void firstPacketThatIsForwardedToItsSessionIsADuplicate() {
    List<ByteBuf> first = client.packets();
    home.take(client, first);
    other.take(client, first);
    assertEquals(1, executed());
    assertEquals(1, home.session.kcp().counters().get(KcpCounter.DUPLICATES));
    assertEquals(0, home.count(KcpCounter.REPLAYED));
  }

  @Test
  void responseOfACandidateReachesTheSocketOfItsSession() {
    connect(1_000_000);
    VirtualHost rebound = new VirtualHost(99);
    client.write(1);
    for (int i = 0; client.ends.isEmpty() && i < 300; i++) {
      other.take(rebound, client.packets());
      client.take(home, home.packetsTo(rebound));
      runAll(STEP_US);
    }
    assertEquals(List.of(EndReason.PEER_MOVED), home.ends);
    assertEquals(List.of(EndReason.SESSION_UNKNOWN), client.ends);
  }

  /** Two sockets passed it to each other for a minute: the one had closed a session of its key. */
  @Test
  void packetIsForwardedOnce() {
    connect(100_000);
    VirtualHost second = new VirtualHost(3, KEYS);
    second.token = 9;
    second.open(other);
    second.write(1);
    for (int i = 0; i < 3; i++) { // Its conversation id is known, so it is asked for a retry.
      other.take(second, second.packets());
      second.take(other, other.packets());
      second.runTo(second.nowUs + STEP_US);
    }
    assertEquals(1, other.driver.table.size());
    other.driver.table.remove(other.session, other.nowUs);
    other.take(second, List.of(queryOfTheHomesSession()));
    assertEquals(1, other.count(KcpCounter.FORWARDED));
    assertEquals(0, home.count(KcpCounter.FORWARDED));
    assertEquals(1, home.packetsTo(second).size(), "challenge");
    home.take(second, List.of(queryOfTheHomesSession()));
    assertEquals(1, other.count(KcpCounter.FORWARDED));
    assertEquals(1, home.count(KcpCounter.FORWARDED));
    assertEquals(List.of(), other.packetsTo(second), "the session is alive at the other socket");
  }

  /** Who has the key can name any session whose id is known. */
  private ByteBuf queryOfTheHomesSession() {
    PacketCipher cipher = KEYS.newCipher();
    ByteBuf packet = Unpooled.buffer().writeZero(cipher.headroom());
    int queryBytes =
        ExtensionMessage.itemBytes(ExtensionMessage.SESSION_QUERY) + ExtensionMessage.Echo.BYTES;
    int bytes =
        ExtensionMessage.HEADER_BYTES
            + ExtensionMessage.itemBytes(ExtensionMessage.TOKEN)
            + queryBytes;
    Segment.write(packet, VirtualHost.CONV, Segment.WINS, 0, 128, 0, 0, 1, bytes);
    ExtensionMessage.writeHeader(packet);
    ExtensionMessage.write(packet, ExtensionMessage.TOKEN, home.token);
    ExtensionMessage.Echo echo = new ExtensionMessage.Echo(1, 2);
    ExtensionMessage.writeItemHeader(packet, ExtensionMessage.SESSION_QUERY, echo);
    packet.writeLongLE(home.session.extension().sessionId()).writeIntLE(0);
    ExtensionMessage.Echo.write(packet, echo);
    packet.writeZero(cipher.tailroom());
    PacketBatch batch = new PacketBatch().reset(packet);
    batch.add(0, packet.writerIndex());
    cipher.seal(batch);
    return packet;
  }
}
