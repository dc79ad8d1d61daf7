package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.Delivery;
import io.kcp4j.EndReason;
import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.Unpooled;
import org.junit.jupiter.api.Test;

/** Peers with other settings: each kind has its counter. */
class MismatchTest {

  private static final KeyRing KEYS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "key"));
  private static final KeyRing OTHERS =
      KeyRing.of(PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "other"));

  private static void assertCounts(KcpCounter counter, KeyRing server, KeyRing client) {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, server);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, client);
      fixture.serve(Echo::new);
      KcpChannel channel = fixture.connect(new Recorder());
      channel.writeAndFlush(Fixture.buffer(channel, new byte[100]));
      await().until(() -> fixture.server().counters().get(counter) > 0);
      assertEquals(0, fixture.server().sessions());
    }
  }

  @Test
  void keysThatDifferAreCounted() {
    assertCounts(KcpCounter.DECRYPT_FAILED, KEYS, OTHERS);
    assertCounts(KcpCounter.PLAINTEXT_RECEIVED, KEYS, KeyRing.NONE);
    assertCounts(KcpCounter.NOT_KCP, KeyRing.NONE, KEYS);
  }

  @OverEachTransport
  void fragmentsSentToAStreamAreCounted(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[4500]));
      await().until(() -> fixture.server().counters().get(KcpCounter.FRAGMENT_IN_STREAM) == 3);
    }
  }

  @OverEachTransport
  void deliveriesThatDifferEndTheSessionOnBothSides(TransportUnderTest transport) throws Exception {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.MESSAGE);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));

      client.closeFuture().syncUninterruptibly();

      assertEquals(EndReason.DELIVERY_MISMATCHED, client.endReason());
      await().until(() -> !recorder.exceptions.isEmpty());
      String message = recorder.exceptions.get(0).getMessage();
      assertTrue(message.contains("DELIVERY of the peer is STREAM, here MESSAGE"), message);
      assertEquals(EndReason.DELIVERY_MISMATCHED, fixture.child().endReason());
      assertEquals(1, client.stats().get(KcpCounter.DELIVERY_MISMATCHED));
      assertEquals(1, fixture.server().counters().get(KcpCounter.DELIVERY_MISMATCHED));
    }
  }
}
