package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Random;

/** Packets for the tests of ciphers. */
public final class TestPackets {

  private static final byte[] SALT = {1};

  private TestPackets() {}

  /** A key of any algorithm; other numbers give other keys. */
  public static PacketKey key(CipherAlgorithm algorithm, int number) {
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

  /** Adds a packet of this payload to the batch, at {@code start}, and returns its end. */
  static int add(PacketBatch batch, PacketCipher cipher, int start, byte[] payload) {
    int end = start + cipher.headroom() + payload.length + cipher.tailroom();
    batch.buffer().setBytes(start + cipher.headroom(), payload);
    batch.add(start, end);
    return end;
  }

  /** A packet of this payload as it crosses the wire. */
  public static byte[] sealed(PacketCipher cipher, byte[] payload) {
    byte[] packet = new byte[cipher.headroom() + payload.length + cipher.tailroom()];
    System.arraycopy(payload, 0, packet, cipher.headroom(), payload.length);
    ByteBuf buffer = Unpooled.wrappedBuffer(packet);
    PacketBatch batch = new PacketBatch().reset(buffer);
    batch.add(0, packet.length);
    cipher.seal(batch);
    return packet;
  }

  /** The payload of a packet that arrived, or null if it is refused. */
  public static byte[] opened(PacketCipher cipher, byte[] packet) {
    ByteBuf buffer = Unpooled.copiedBuffer(packet);
    PacketBatch batch = new PacketBatch().reset(buffer);
    batch.add(0, packet.length);
    cipher.open(batch);
    return batch.isRefused(0) ? null : payload(batch, 0);
  }

  public static byte[] payload(PacketBatch batch, int i) {
    return ByteBufUtil.getBytes(batch.buffer(), batch.start(i), batch.end(i) - batch.start(i));
  }
}
