package io.kcp4j.netty.internal.endpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.UsedKeys;
import io.kcp4j.netty.RecordedLog;
import io.kcp4j.netty.internal.LogLimit;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.PortUnreachableException;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link EndpointLog}: what peers can cause is logged at a limited rate. */
class EndpointLogTest {

  private final RecordedLog recorded = new RecordedLog();
  private final EmbeddedChannel socket = new EmbeddedChannel();
  private final KcpCounters counters = new KcpCounters();
  private final EndpointLog log = new EndpointLog(socket, counters);

  @AfterEach
  void close() {
    recorded.close();
    socket.finishAndReleaseAll();
  }

  @Test
  void mismatchIsLoggedOnceInTenSeconds() {
    for (long i = 1; i <= 3; i++) {
      InetSocketAddress remote = InetSocketAddress.createUnresolved("peer" + i, 1);
      log.mismatched(KcpCounter.NOT_KCP, remote, i * (LogLimit.INTERVAL_US / 2));
    }
    List<String> lines = recorded.messages(Level.INFO);
    assertEquals(2, lines.size(), lines::toString);
    assertTrue(lines.get(0).contains("peer1"), lines::toString);
    assertTrue(lines.get(1).contains("peer3"), lines::toString);
  }

  @Test
  void eachKindOfMismatchIsLoggedOnceInTenSeconds() {
    InetSocketAddress remote = InetSocketAddress.createUnresolved("peer", 1);
    List<KcpCounter> kinds =
        List.of(
            KcpCounter.DECRYPT_FAILED,
            KcpCounter.PLAINTEXT_RECEIVED,
            KcpCounter.NOT_KCP,
            KcpCounter.FRAGMENT_IN_STREAM,
            KcpCounter.DELIVERY_MISMATCHED);
    for (int us : new int[] {5, 5, 4 + LogLimit.INTERVAL_US}) {
      kinds.forEach(kind -> log.mismatched(kind, remote, us));
    }
    List<String> lines = recorded.messages(Level.INFO);
    assertEquals(kinds.size(), Set.copyOf(lines).size(), lines::toString);
    assertEquals(kinds.size(), lines.size(), lines::toString);
    assertTrue(lines.stream().allMatch(line -> line.contains("peer")), lines::toString);

    kinds.forEach(kind -> log.mismatched(kind, remote, 5 + LogLimit.INTERVAL_US));
    assertEquals(2 * kinds.size(), recorded.messages(Level.INFO).size());
  }

  @Test
  void missingAnswerMayBeDueToFecOnlyWithFec() {
    assertFalse(log.unansweredDetail(false).contains("FEC"));
    assertTrue(log.unansweredDetail(true).endsWith("or it takes no FEC, as C KCP"));
  }

  @ParameterizedTest
  @CsvSource({
    "'sendToAddress(..) failed with error(-1): Operation not permitted', EPERM",
    "Network is unreachable, ENETUNREACH",
    "No route to host, EHOSTUNREACH",
    "Cannot assign requested address, EADDRNOTAVAIL"
  })
  void errorsOfSendingAreCountedByName(String message, String name) {
    String answer = "0 datagrams received; last send failed: ";
    log.sendFailed(new IOException(message), 0);
    assertEquals(answer + name, log.unansweredDetail(true));
    assertEquals(1, counters.get(KcpCounter.valueOf("SEND_REFUSED_" + name)));
    log.sendFailed(new NoRouteToHostException("Message too long"), 0);
    assertEquals(answer + "Message too long", log.unansweredDetail(true));
    assertEquals(1, counters.get(KcpCounter.SEND_REFUSED_OTHER));
  }

  @Test
  void answerOfThePeersHostIsNoRefusal() {
    log.sendFailed(new PortUnreachableException("Connection refused"), 0);
    assertFalse(log.unansweredDetail(false).contains("send failed"));
    assertEquals("[]", counters.toString());
  }

  @Test
  void smallConvUnderAnAeadIsLoggedOnceInTenSeconds() {
    KeyRing aead = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "k"));
    KeyRing other = KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128, "k"));
    InetSocketAddress remote = InetSocketAddress.createUnresolved("peer", 1);
    log.begins(65_536, remote, aead, 0);
    log.begins(-1, remote, aead, 0);
    log.begins(7, remote, other, 0);
    assertEquals(List.of(), recorded.messages(Level.INFO));
    log.begins(7, remote, aead, 0);
    log.begins(8, remote, aead, LogLimit.INTERVAL_US - 1);
    log.begins(65_535, remote, aead, LogLimit.INTERVAL_US);
    List<String> lines = recorded.messages(Level.INFO);
    assertEquals(2, lines.size(), lines::toString);
    assertTrue(lines.get(0).contains("conv 7 of peer"), lines::toString);
    assertTrue(lines.get(1).contains("conv 65535 of peer"), lines::toString);
  }

  @Test
  void keyThatHasReachedItsUsageLimitIsWarnedOfOnce() {
    KeyRing keys = KeyRing.of(UsedKeys.atTheLimit());
    log.warnOfKeyUsageLimit(keys);
    log.warnOfKeyUsageLimit(keys);
    List<String> lines = recorded.messages(Level.WARN);
    assertEquals(1, lines.size(), lines::toString);
    assertTrue(lines.get(0).contains("usage limit"), lines::toString);
  }
}
