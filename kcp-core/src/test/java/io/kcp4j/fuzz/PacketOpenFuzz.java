package io.kcp4j.fuzz;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Opens batches of packets with every cipher: noise, and sealed ones, altered or not, at any place
 * of a direct or heap buffer. A packet that does not open keeps its bytes; nothing around a packet
 * is ever changed; what was sealed opens to what it was; an AEAD opens nothing that was altered.
 */
public final class PacketOpenFuzz {

  private static final int MAX_PACKETS = 12;
  private static final int MAX_PACKET_BYTES = 300;
  private static final byte MARGIN = 0x5a;
  private static final int CRC_INDEX = 16;

  private static final List<KeyRing> RINGS = rings();
  private static final PacketCipher[] CIPHERS =
      RINGS.stream().map(KeyRing::newCipher).toArray(PacketCipher[]::new);

  private static final int CAPACITY = MAX_PACKETS * 2 * MAX_PACKET_BYTES;
  private static final ByteBuf HEAP = Unpooled.buffer(CAPACITY, CAPACITY);
  private static final ByteBuf DIRECT = Unpooled.directBuffer(CAPACITY, CAPACITY);
  private static final byte[] BEFORE = new byte[CAPACITY];
  private static final byte[] AFTER = new byte[CAPACITY];
  private static final PacketBatch BATCH = new PacketBatch();
  private static final PacketBatch ONE = new PacketBatch();

  private final FuzzInput input;
  private final int ring;
  private final ByteBuf buffer;
  private final byte[][] payloads = new byte[MAX_PACKETS][];
  private final boolean[] altered = new boolean[MAX_PACKETS];
  private final boolean[] skipped = new boolean[MAX_PACKETS];
  private int end;

  private PacketOpenFuzz(byte[] bytes) {
    input = new FuzzInput(bytes);
    ring = input.below(RINGS.size());
    buffer = input.oneIn(2) ? DIRECT : HEAP;
  }

  private static List<KeyRing> rings() {
    List<KeyRing> rings = new ArrayList<>();
    for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
      rings.add(KeyRing.of(key(algorithm, 1)));
    }
    rings.add(
        KeyRing.of(
            key(CipherAlgorithm.AES_128_GCM, 1),
            key(CipherAlgorithm.AES_128_GCM, 2),
            key(CipherAlgorithm.CHACHA20_POLY1305, 3)));
    rings.add(
        KeyRing.of(
            key(CipherAlgorithm.SALSA20, 1),
            key(CipherAlgorithm.AES_256_GCM, 2),
            key(CipherAlgorithm.AES_128, 3)));
    return rings;
  }

  private static PacketKey key(CipherAlgorithm algorithm, int first) {
    byte[] key = new byte[algorithm.keyBytes()];
    for (int i = 0; i < key.length; i++) {
      key[i] = (byte) (first + 7 * i);
    }
    return PacketKey.of(algorithm, key);
  }

  /** One batch. */
  public static void fuzzerTestOneInput(byte[] bytes) {
    new PacketOpenFuzz(bytes).run();
  }

  private void run() {
    BATCH.reset(buffer);
    do {
      addPacket();
    } while (!input.isAtEnd() && BATCH.size() < MAX_PACKETS);
    margin();
    buffer.getBytes(0, BEFORE, 0, end);
    int[] starts = new int[BATCH.size()];
    int[] ends = new int[BATCH.size()];
    for (int i = 0; i < starts.length; i++) {
      starts[i] = BATCH.start(i);
      ends[i] = BATCH.end(i);
    }
    CIPHERS[ring].open(BATCH);
    buffer.getBytes(0, AFTER, 0, end);
    int unchanged = 0;
    for (int i = 0; i < starts.length; i++) {
      equal(unchanged, starts[i], "changed what is between packets");
      check(i, starts[i], ends[i]);
      unchanged = ends[i];
    }
    equal(unchanged, end, "changed what is after the packets");
    Check.that(buffer.refCnt() == 1, "kept the buffer");
  }

  private void margin() {
    for (int i = input.below(8); i >= 0; i--) {
      buffer.setByte(end++, MARGIN);
    }
  }

  private void addPacket() {
    margin();
    int start = end;
    int kind = input.unsignedByte();
    if (kind % 4 == 0) {
      byte[] noise = input.take(input.unsignedByte());
      buffer.setBytes(start, noise);
      end += noise.length;
    } else {
      seal(kind);
    }
    int number = BATCH.size();
    BATCH.add(start, end);
    skipped[number] = kind >= 248;
    if (skipped[number]) {
      BATCH.refuse(number);
    }
  }

  private void seal(int kind) {
    int number = BATCH.size();
    PacketCipher cipher = CIPHERS[ring];
    int start = end;
    byte[] payload = input.take(input.unsignedByte());
    buffer.setBytes(start + cipher.headroom(), payload);
    end += cipher.headroom() + payload.length + cipher.tailroom();
    ONE.reset(buffer).add(start, end);
    cipher.seal(ONE);
    payloads[number] = payload;
    if (kind % 4 > 1) {
      altered[number] = true;
      alter(start, end - start);
    }
  }

  private void alter(int start, int bytes) {
    int shorter = input.oneIn(4) ? input.below(40) : 0;
    if (shorter > 0) {
      end = Math.max(start, end - shorter);
      return;
    }
    for (int flips = input.below(3); flips >= 0 && bytes > 0; flips--) {
      int at = start + input.unsignedShort() % bytes;
      int mask = 1 + input.below(255);
      buffer.setByte(at, buffer.getByte(at) ^ mask);
    }
  }

  private void check(int number, int start, int packetEnd) {
    if (BATCH.isRefused(number)) {
      Check.that(
          skipped[number] || payloads[number] == null || altered[number], "sealed, and refused");
      Check.that(
          BATCH.start(number) == start && BATCH.end(number) == packetEnd, "moved a refused packet");
      equal(start, packetEnd, "altered a refused packet");
      return;
    }
    Check.that(!skipped[number], "opened what was not to be opened");
    int payloadStart = BATCH.start(number);
    int payloadEnd = BATCH.end(number);
    Check.that(
        payloadStart >= start && payloadEnd <= packetEnd && payloadStart <= payloadEnd,
        "a payload outside of its packet");
    if (payloads[number] != null && !altered[number]) {
      Check.that(
          Arrays.equals(
              AFTER, payloadStart, payloadEnd, payloads[number], 0, payloads[number].length),
          "opened to something else");
    } else if (RINGS.get(ring).isAuthenticated()) {
      Check.that(
          payloads[number] != null && isAsSealed(number, payloadStart, payloadEnd),
          "opened what was not sealed");
    } else if (CIPHERS[ring].headroom() > 0 && RINGS.get(ring).keys().size() == 1) {
      checkChecksum(payloadStart, payloadEnd);
    }
  }

  /** Two alterations may have undone each other. */
  private boolean isAsSealed(int number, int start, int payloadEnd) {
    return Arrays.equals(AFTER, start, payloadEnd, payloads[number], 0, payloads[number].length);
  }

  /** Where nothing is encrypted the checksum can be seen. */
  private void checkChecksum(int payloadStart, int payloadEnd) {
    if (RINGS.get(ring).keys().get(0).name().equals("none")) {
      CRC32 crc = new CRC32();
      crc.update(AFTER, payloadStart, payloadEnd - payloadStart);
      int header = payloadStart - CIPHERS[ring].headroom();
      Check.that(
          buffer.getIntLE(header + CRC_INDEX) == (int) crc.getValue(),
          "opened with a false checksum");
    }
  }

  private void equal(int from, int to, String otherwise) {
    Check.that(Arrays.equals(BEFORE, from, to, AFTER, from, to), otherwise);
  }
}
