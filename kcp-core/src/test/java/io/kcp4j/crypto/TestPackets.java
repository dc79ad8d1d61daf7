package io.kcp4j.crypto;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Random;

/** Packets for the tests of ciphers. */
final class TestPackets {

  private static final byte[] SALT = {1};

  private TestPackets() {}

  /** A key of any algorithm; other numbers give other keys. */
  static PacketKey key(CipherAlgorithm algorithm, int number) {
    return PacketKey.ofPassphrase(algorithm, "key " + number, SALT, 1);
  }

  static PacketCipher cipher(CipherAlgorithm algorithm) {
    return KeyRing.of(key(algorithm, 0)).newCipher();
  }

  static byte[] randomBytes(Random random, int length) {
    byte[] bytes = new byte[length];
    random.nextBytes(bytes);
    return bytes;
  }

  /** Adds a packet of this payload to the burst, at {@code start}, and returns its end. */
  static int add(PacketBurst burst, PacketCipher cipher, int start, byte[] payload) {
    int end = start + cipher.headroom() + payload.length + cipher.tailroom();
    burst.buffer().setBytes(start + cipher.headroom(), payload);
    burst.add(start, end);
    return end;
  }

  /** A packet of this payload as it crosses the wire. */
  static byte[] sealed(PacketCipher cipher, byte[] payload) {
    byte[] packet = new byte[cipher.headroom() + payload.length + cipher.tailroom()];
    System.arraycopy(payload, 0, packet, cipher.headroom(), payload.length);
    ByteBuf buffer = Unpooled.wrappedBuffer(packet);
    PacketBurst burst = new PacketBurst().reset(buffer);
    burst.add(0, packet.length);
    cipher.seal(burst);
    return packet;
  }

  /** The payload of a packet that arrived, or null if it is refused. */
  static byte[] opened(PacketCipher cipher, byte[] packet) {
    ByteBuf buffer = Unpooled.copiedBuffer(packet);
    PacketBurst burst = new PacketBurst().reset(buffer);
    burst.add(0, packet.length);
    cipher.open(burst);
    return burst.isRefused(0) ? null : payload(burst, 0);
  }

  static byte[] payload(PacketBurst burst, int i) {
    return ByteBufUtil.getBytes(burst.buffer(), burst.start(i), burst.end(i) - burst.start(i));
  }
}
