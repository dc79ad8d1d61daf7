package io.kcp4j.internal.fec;

import io.kcp4j.jmh.KcpBenchmark;
import java.util.Arrays;
import java.util.Random;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Reed-Solomon over the packets of one group of {@value KcpBenchmark#PACKET_BYTES} bytes each:
 * encoding all parity, and reconstructing the first data packet or as many as there is parity.
 *
 * <p>For the kernel of JDK 25, build with JDK 25 and run with {@code -jvmArgsAppend "--add-modules
 * jdk.incubator.vector -Dkcp4j.fec.kernel=vector512"}. Without the name of the kernel the first
 * results may still be those of the portable kernel.
 */
public class ReedSolomonBenchmark extends KcpBenchmark {

  /** The ratio of the group. */
  @State(Scope.Thread)
  public static class Ratio {

    /** Data and parity shards. */
    @Param({"10+3", "20+10"})
    String code;

    ReedSolomon code() {
      int[] shards = Arrays.stream(code.split("\\+", 2)).mapToInt(Integer::parseInt).toArray();
      return ReedSolomon.of(shards[0], shards[1]);
    }
  }

  /** A group in the form that the codec takes, and its losses. */
  @State(Scope.Thread)
  public static class Group {

    private final int longs = PACKET_BYTES / Long.BYTES;
    private ReedSolomon code;
    private long[][] shards;
    private long[][] data;
    private long[][] parity;
    private boolean[] oneLost;
    private boolean[] manyLost;

    /** Makes a group. */
    @Setup
    public void fill(Ratio ratio) {
      code = ratio.code();
      int count = code.dataShards() + code.parityShards();
      shards = new long[count][ReedSolomon.rowLongs(PACKET_BYTES)];
      data = Arrays.copyOf(shards, code.dataShards());
      parity = Arrays.copyOfRange(shards, code.dataShards(), count);
      Random random = new Random(1);
      for (long[] row : data) {
        Arrays.setAll(row, i -> random.nextLong());
      }
      code.encode(data, parity, longs);
      oneLost = present(count, 1);
      manyLost = present(count, code.parityShards());
      long[] first = shards[0].clone();
      Arrays.fill(shards[0], 0, longs, 0);
      check(code.reconstructData(shards, manyLost, longs), "too few shards");
      check(Arrays.equals(first, shards[0]), "not rebuilt");
    }

    private static boolean[] present(int count, int missing) {
      boolean[] present = new boolean[count];
      Arrays.fill(present, missing, count, true);
      return present;
    }
  }

  /** The same group in bytes, for the baseline. */
  @State(Scope.Thread)
  public static class Bytes {

    private TableReedSolomonBaseline encoder;
    private TableReedSolomonBaseline oneLost;
    private TableReedSolomonBaseline manyLost;
    private byte[][] inputs;
    private byte[][] outputs;

    /** Makes a group. */
    @Setup
    public void fill(Ratio ratio) {
      ReedSolomon code = ratio.code();
      encoder = TableReedSolomonBaseline.encoder(code);
      oneLost = TableReedSolomonBaseline.decoder(code, 1);
      manyLost = TableReedSolomonBaseline.decoder(code, code.parityShards());
      inputs = new byte[code.dataShards()][PACKET_BYTES];
      outputs = new byte[code.parityShards()][PACKET_BYTES];
      Random random = new Random(1);
      for (byte[] row : inputs) {
        random.nextBytes(row);
      }
    }
  }

  /** All parity of a group. */
  @Benchmark
  public long[][] encode(Group group) {
    group.code.encode(group.data, group.parity, group.longs);
    return group.parity;
  }

  /** One lost data packet. */
  @Benchmark
  public boolean reconstruct1(Group group) {
    return group.code.reconstructData(group.shards, group.oneLost, group.longs);
  }

  /** As many lost data packets as there is parity. */
  @Benchmark
  public boolean reconstructAll(Group group) {
    return group.code.reconstructData(group.shards, group.manyLost, group.longs);
  }

  /** The baseline of {@link #encode}: loops over bytes with tables. */
  @Benchmark
  public byte[][] encodeBaselineTables(Bytes bytes) {
    bytes.encoder.multiply(bytes.inputs, bytes.outputs, PACKET_BYTES);
    return bytes.outputs;
  }

  /** The baseline of {@link #reconstruct1}. */
  @Benchmark
  public byte[][] reconstruct1BaselineTables(Bytes bytes) {
    bytes.oneLost.multiply(bytes.inputs, bytes.outputs, PACKET_BYTES);
    return bytes.outputs;
  }

  /** The baseline of {@link #reconstructAll}. */
  @Benchmark
  public byte[][] reconstructAllBaselineTables(Bytes bytes) {
    bytes.manyLost.multiply(bytes.inputs, bytes.outputs, PACKET_BYTES);
    return bytes.outputs;
  }
}
