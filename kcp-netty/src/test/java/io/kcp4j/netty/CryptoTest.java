package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounter;
import io.kcp4j.crypto.BlockCipher;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Sessions with encrypted packets. */
class CryptoTest {

  private static PacketKey key(CipherAlgorithm algorithm, String passphrase) {
    return PacketKey.ofPassphrase(algorithm, passphrase);
  }

  private static final PacketKey OLD = key(CipherAlgorithm.AES_128_GCM, "old");
  private static final PacketKey NEW = key(CipherAlgorithm.AES_128_GCM, "new");

  private static void echoes(KcpChannel client, Recorder recorder, int bytes) {
    int before = recorder.received();
    client.writeAndFlush(Unpooled.wrappedBuffer(Fixture.randomBytes(bytes)));
    await().until(() -> recorder.received() == before + bytes);
  }

  @ParameterizedTest
  @EnumSource
  void streamIsEchoedWithEveryCipher(CipherAlgorithm algorithm) {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(key(algorithm, "k")));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(key(algorithm, "k")));
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      byte[] data = Fixture.randomBytes(100_000);

      client.writeAndFlush(Unpooled.wrappedBuffer(data));

      await().until(() -> recorder.received() == data.length);
      assertArrayEquals(data, recorder.bytes());
      assertEquals(0, client.endpointCounters().get(KcpCounter.DECRYPT_FAILED));
    }
  }

  @OverEachTransport
  void manySessionsShareTheKeysOfTheirServer(TransportUnderTest transport) {
    try (Fixture fixture = new Fixture(transport)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.serve(Echo::new);
      for (int i = 0; i < 20; i++) {
        Recorder recorder = new Recorder();
        echoes(fixture.connect(recorder), recorder, 5_000);
      }
      assertEquals(20, fixture.server().sessions());
    }
  }

  @Test
  void peersWithoutTheKeyBeginNoSession() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.serve(Echo::new);
      for (KeyRing ring : new KeyRing[] {KeyRing.NONE, KeyRing.of(OLD)}) {
        fixture.bootstrap.option(KcpChannelOption.KEY_RING, ring);
        long before = fixture.server().counters().get(KcpCounter.DECRYPT_FAILED);
        KcpChannel client = fixture.connect(new Recorder());
        client.writeAndFlush(Unpooled.wrappedBuffer(new byte[100]));
        await().until(() -> fixture.server().counters().get(KcpCounter.DECRYPT_FAILED) > before);
      }
      assertEquals(0, fixture.server().sessions());
    }
  }

  @Test
  void keysOfRunningSessionsChange() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(OLD));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(OLD));
      KcpServerChannel server = fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      KcpChannel client = fixture.connect(recorder);
      echoes(client, recorder, 10_000);

      server.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(OLD, NEW));
      client.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(NEW, OLD));
      echoes(client, recorder, 10_000);
      server.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      echoes(client, recorder, 10_000);

      client.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(OLD));
      long before = server.counters().get(KcpCounter.DECRYPT_FAILED);
      client.writeAndFlush(Unpooled.wrappedBuffer(new byte[10]));
      await().until(() -> server.counters().get(KcpCounter.DECRYPT_FAILED) > before);
      assertTrue(client.isActive());
    }
  }

  @Test
  void keysOfAnotherSizeAreRefusedDuringSessions() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      KcpServerChannel server = fixture.serve(Echo::new);
      KcpChannel client = fixture.connect(new Recorder());
      KeyRing other = KeyRing.of(key(CipherAlgorithm.SALSA20, "k"));

      assertThrows(
          IllegalArgumentException.class,
          () -> server.config().setOption(KcpChannelOption.KEY_RING, other));
      assertThrows(
          IllegalArgumentException.class,
          () -> client.config().setOption(KcpChannelOption.KEY_RING, other));
      assertEquals(
          KeyRing.of(NEW).keys(), server.config().getOption(KcpChannelOption.KEY_RING).keys());
    }
  }

  @Test
  void childHasNoKeysOfItsOwn() throws InterruptedException {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();
      echoes(fixture.connect(recorder), recorder, 1);
      KcpChannel child = fixture.child();

      assertThrows(
          IllegalArgumentException.class,
          () -> child.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(NEW)));
    }
  }

  @Test
  void cipherThatCannotBeMadeFailsBindAndConnect() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      AtomicInteger made = new AtomicInteger();
      PacketKey broken =
          PacketKey.ofBlockCipher(
              "broken",
              () -> {
                if (made.getAndIncrement() > 0) {
                  throw new IllegalStateException("broken");
                }
                return new Rotation();
              });
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(broken));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(broken));
      assertThrows(IllegalStateException.class, () -> fixture.serve(Echo::new));
      assertThrows(
          IllegalStateException.class, () -> fixture.connectTo(Fixture.ANY_PORT, new Recorder()));
    }
  }

  /** A block cipher that hides nothing. */
  private static final class Rotation implements BlockCipher {
    @Override
    public int blockBytes() {
      return 16;
    }

    @Override
    public void encrypt(byte[] in, int inIndex, byte[] out, int outIndex) {
      for (int i = 0; i < 16; i++) {
        out[outIndex + i] = in[inIndex + (i + 1) % 16];
      }
    }
  }

  @Test
  void mtuIsTheSizeOfTheWholePacket() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      KcpSocketConfig config = KcpSocketConfig.builder().maxDatagramBytes(600).build();
      fixture.serverBootstrap.option(KcpChannelOption.SOCKET_CONFIG, config);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.bootstrap.option(KcpChannelOption.MTU, 600);
      fixture.serve(Echo::new);
      Recorder recorder = new Recorder();

      echoes(fixture.connect(recorder), recorder, 20_000);

      assertEquals(0, fixture.server().counters().get(KcpCounter.OVERSIZE));
    }
  }

  @Test
  void mtuWithoutRoomForTheHeadersIsRefused() {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO)) {
      KcpChannel client = new KcpChannel();
      client.config().setOption(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      assertThrows(
          IllegalArgumentException.class,
          () -> client.config().setOption(KcpChannelOption.MTU, 52));
      assertTrue(client.config().setOption(KcpChannelOption.MTU, 53));

      fixture.bootstrap.option(KcpChannelOption.MTU, 50);
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, KeyRing.of(NEW));
      fixture.bootstrap.option(ChannelOption.AUTO_READ, true);
      fixture.serve(Echo::new);
      ChannelFuture connect =
          fixture
              .bootstrap
              .clone()
              .handler(new Recorder())
              .connect(fixture.server().localAddress());
      await().until(connect::isDone);
      assertFalse(connect.isSuccess());
      assertInstanceOf(IllegalArgumentException.class, connect.cause());
    }
  }
}
