package io.kcp4j.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a server counts when the settings of a client differ from its own. */
class MismatchTest {

  private static KeyRing keys(CipherAlgorithm algorithm, String passphrase) {
    return KeyRing.of(PacketKey.ofPassphrase(algorithm, passphrase));
  }

  /** Has a client send its first packets to a server. */
  private static Host called(KeyRing clients, KeyRing servers, FecConfig fec) {
    Host client = new Host(1, clients);
    client.fec = fec;
    Host server = new Host(2, servers);
    client.send(client.open(server.address, 7), 100);
    server.take(client, client.packets());
    assertEquals(0, server.table.size());
    client.close();
    server.close();
    return server;
  }

  @ParameterizedTest
  @EnumSource(names = {"AES_128_GCM", "SALSA20", "NONE"})
  void anotherKeyIsNotTakenForPlaintext(CipherAlgorithm algorithm) {
    KeyRing other =
        algorithm == CipherAlgorithm.NONE
            ? keys(CipherAlgorithm.AES_128_GCM, "a")
            : keys(algorithm, "b");
    Host server = called(other, keys(algorithm, "a"), FecConfig.NONE);
    assertEquals(1, server.count(KcpCounter.DECRYPT_FAILED));
    assertEquals(0, server.count(KcpCounter.PLAINTEXT_RECEIVED));
    assertEquals(List.of("DECRYPT_FAILED host:1"), server.mismatches);
  }

  @ParameterizedTest
  @EnumSource(names = {"AES_128_GCM", "SALSA20", "CHACHA20_POLY1305", "AES"})
  void plaintextIsRecognizedWhereThereAreKeys(CipherAlgorithm algorithm) {
    for (FecConfig fec : List.of(FecConfig.NONE, FecConfig.of(10, 3))) {
      Host server = called(KeyRing.NONE, keys(algorithm, "a"), fec);
      assertEquals(1, server.count(KcpCounter.DECRYPT_FAILED));
      assertEquals(1, server.count(KcpCounter.PLAINTEXT_RECEIVED));
      assertEquals(List.of("PLAINTEXT_RECEIVED host:1"), server.mismatches);
    }
  }

  @ParameterizedTest
  @EnumSource(names = {"AES_128_GCM", "SALSA20", "CHACHA20_POLY1305", "AES"})
  void sealedPacketsAreNotKcpWhereThereAreNoKeys(CipherAlgorithm algorithm) {
    Host server = called(keys(algorithm, "a"), KeyRing.NONE, FecConfig.NONE);
    assertEquals(1, server.count(KcpCounter.UNKNOWN_SESSION));
    assertEquals(1, server.count(KcpCounter.NOT_KCP));
    assertEquals(List.of("NOT_KCP host:1"), server.mismatches);
  }

  @Test
  void packetOfAnUnknownSessionIsKcp() {
    Host client = new Host(1, KeyRing.NONE);
    Host server = new Host(2, KeyRing.NONE);
    Session session = client.open(server.address, 7);
    client.send(session, 100);
    client.packets().forEach(lost -> {});
    client.send(session, 100);
    server.take(client, client.packets());
    assertEquals(1, server.count(KcpCounter.UNKNOWN_SESSION));
    assertEquals(0, server.count(KcpCounter.NOT_KCP));
    assertTrue(server.mismatches.isEmpty());
    client.close();
    server.close();
  }
}
