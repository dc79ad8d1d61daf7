package io.kcp4j.jmh;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/**
 * Packets that no key opens, compared with one that the last key of the ring opens. In a server the
 * exceptions of the JCE cost more than here, since its stack is deeper.
 */
public class RefusedPacketBenchmark extends KcpBenchmark {

  /** A ring, and a packet of each kind in a direct buffer. */
  @State(Scope.Thread)
  public static class Packets {

    /** The cipher of all keys, by its kcptun name. */
    @Param({"aes-128-gcm", "chacha20-poly1305", "aes"})
    String cipher;

    /** How many keys the ring has. */
    @Param({"1", "3"})
    int keys;

    /** How long a packet is. */
    @Param({"64", "1400"})
    int packetBytes;

    private final PacketBatch batch = new PacketBatch();
    private ByteBuf honest;
    private ByteBuf scratch;
    private ByteBuf junk;
    private PacketCipher opening;
    private long nonce;

    /** Makes the ring, and seals a packet with its last key. */
    @Setup
    public void open() {
      CipherAlgorithm algorithm = CipherAlgorithm.of(cipher);
      PacketKey[] all = new PacketKey[keys];
      for (int i = 0; i < keys; i++) {
        all[i] = PacketKey.ofPassphrase(algorithm, "key " + i);
      }
      PacketKey[] older = new PacketKey[keys - 1];
      System.arraycopy(all, 1, older, 0, older.length);
      opening = KeyRing.of(all[0], older).newCipher();
      honest = ALLOCATOR.directBuffer(packetBytes).writeZero(packetBytes);
      scratch = ALLOCATOR.directBuffer(packetBytes);
      junk = ALLOCATOR.directBuffer(packetBytes).writeZero(packetBytes);
      batch.reset(honest).add(0, packetBytes);
      KeyRing.of(all[keys - 1]).newCipher().seal(batch);
      check(!openHonest().isRefused(0), "a sealed packet did not open");
      check(openJunk().isRefused(0), "junk opened");
    }

    PacketBatch openHonest() {
      scratch.setBytes(0, honest, 0, packetBytes);
      batch.reset(scratch).add(0, packetBytes);
      opening.open(batch, 0, this);
      return batch;
    }

    PacketBatch openJunk() {
      junk.setLong(0, nonce++);
      batch.reset(junk).add(0, packetBytes);
      opening.open(batch, 0, null);
      return batch;
    }

    /** Frees the buffers. */
    @TearDown
    public void close() {
      honest.release();
      scratch.release();
      junk.release();
    }
  }

  /** A packet of zeros with a new nonce. */
  @Benchmark
  public PacketBatch refused(Packets packets) {
    return packets.openJunk();
  }

  /** The baseline: a valid packet of a known source. */
  @Benchmark
  public PacketBatch opened(Packets packets) {
    return packets.openHonest();
  }
}
