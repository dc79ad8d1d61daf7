package io.kcp4j.internal.fec;

import static java.util.stream.Collectors.toCollection;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class ReedSolomonTest {

  private final Random random = new Random(1);

  static List<ReedSolomonVector> vectors() {
    return ReedSolomonVector.all();
  }

  @ParameterizedTest
  @MethodSource("vectors")
  void parityEqualsThatOfTheGoImplementation(ReedSolomonVector vector) {
    ReedSolomon code = ReedSolomon.of(vector.data().length, vector.parity().length);
    assertArrayEquals(vector.parity(), parity(code, vector.data()));
  }

  @ParameterizedTest
  @CsvSource({
    "1,1", "1,255", "255,1", "128,128", "2,254", "254,2", "10,3", "20,10", "64,64", "200,55", "3,2"
  })
  void shardsOfAllRatiosAgreeWithTheReference(int dataShards, int parityShards) {
    ReedSolomon code = ReedSolomon.of(dataShards, parityShards);
    assertEquals(dataShards, code.dataShards());
    assertEquals(parityShards, code.parityShards());
    byte[][] data = Shards.random(dataShards, 9, random);
    byte[][] parity = new ReferenceReedSolomon(dataShards, parityShards).parity(data);
    assertArrayEquals(parity, parity(code, data));
    for (int round = 0; round < 5; round++) {
      assertRebuilds(code, data, parity, randomLoss(dataShards + parityShards, parityShards));
    }
  }

  @ParameterizedTest
  @CsvSource({"1,1", "1,4", "4,1", "3,3", "5,3", "6,4"})
  void everyRecoverableLossIsReconstructed(int dataShards, int parityShards) {
    ReedSolomon code = ReedSolomon.of(dataShards, parityShards);
    byte[][] data = Shards.random(dataShards, 11, random);
    byte[][] parity = parity(code, data);
    int shards = dataShards + parityShards;
    for (int pattern = 0; pattern < 1 << shards; pattern++) {
      boolean[] present = new boolean[shards];
      for (int i = 0; i < shards; i++) {
        present[i] = (pattern >> i & 1) != 0;
      }
      if (Integer.bitCount(pattern) >= dataShards) {
        assertRebuilds(code, data, parity, present);
      } else {
        assertStaysAsItIs(code, data, parity, present);
      }
    }
  }

  @Test
  void everyLengthIsCompleteAndLaterBytesDoNotChange() {
    ReedSolomon code = ReedSolomon.of(10, 3);
    ReferenceReedSolomon plain = new ReferenceReedSolomon(10, 3);
    for (int bytes = 0; bytes <= 1500; bytes += bytes < 300 ? 1 : 97) {
      byte[][] data = Shards.random(10, bytes, random);
      int longs = Shards.longs(bytes);
      long[][] parity = new long[3][longs + 1];
      for (long[] row : parity) {
        Arrays.fill(row, 42);
      }
      code.encode(Shards.toLongs(data), parity, longs);
      assertArrayEquals(plain.parity(data), Shards.toBytes(parity, bytes));
      for (long[] row : parity) {
        assertEquals(42, row[longs]);
      }
    }
  }

  @Test
  void ratiosBeyondTheFieldAreRejected() {
    for (int[] ratio :
        new int[][] {{0, 1}, {1, 0}, {1, 256}, {255, 2}, {256, 1}, {-1, 3}, {3, -1}}) {
      IllegalArgumentException refusal =
          assertThrows(IllegalArgumentException.class, () -> ReedSolomon.of(ratio[0], ratio[1]));
      assertTrue(refusal.getMessage().matches(".* -?\\d+ is not in 1\\.\\.\\d+.*"));
    }
  }

  private byte[][] parity(ReedSolomon code, byte[][] data) {
    int longs = Shards.longs(data[0].length);
    long[][] parity = new long[code.parityShards()][longs];
    code.encode(Shards.toLongs(data), parity, longs);
    return Shards.toBytes(parity, data[0].length);
  }

  private void assertRebuilds(ReedSolomon code, byte[][] data, byte[][] parity, boolean[] present) {
    long[][] rows = rows(data, parity, present);
    boolean[] given = present.clone();
    assertTrue(code.reconstructData(rows, given, rows[0].length));
    assertArrayEquals(present, given);
    assertArrayEquals(data, Shards.toBytes(Arrays.copyOf(rows, data.length), data[0].length));
  }

  private void assertStaysAsItIs(
      ReedSolomon code, byte[][] data, byte[][] parity, boolean[] present) {
    long[][] rows = rows(data, parity, present);
    long[][] before = Arrays.stream(rows).map(long[]::clone).toArray(long[][]::new);
    assertFalse(code.reconstructData(rows, present, rows[0].length));
    assertArrayEquals(before, rows);
  }

  /** All rows, with arbitrary content in those that are missing. */
  private long[][] rows(byte[][] data, byte[][] parity, boolean[] present) {
    byte[][] shards = Arrays.copyOf(data, data.length + parity.length);
    System.arraycopy(parity, 0, shards, data.length, parity.length);
    long[][] rows = Shards.toLongs(shards);
    for (int i = 0; i < rows.length; i++) {
      if (!present[i]) {
        Arrays.setAll(rows[i], k -> random.nextLong());
      }
    }
    return rows;
  }

  /** As many missing shards as possible. */
  private boolean[] randomLoss(int shards, int missing) {
    List<Integer> order = IntStream.range(0, shards).boxed().collect(toCollection(ArrayList::new));
    Collections.shuffle(order, random);
    boolean[] present = new boolean[shards];
    order.stream().skip(missing).forEach(i -> present[i] = true);
    return present;
  }
}
