package io.kcp4j.internal.fec;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** Shards of the Go implementation. */
@SuppressWarnings("ArrayRecordComponent") // nobody compares vectors
record ReedSolomonVector(byte[][] data, byte[][] parity) {

  static List<ReedSolomonVector> all() {
    try (BufferedReader lines =
        new BufferedReader(
            new InputStreamReader(
                ReedSolomonVector.class.getResourceAsStream("/vectors/reed-solomon.txt"),
                StandardCharsets.US_ASCII))) {
      List<ReedSolomonVector> vectors = new ArrayList<>();
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        if (line.startsWith("code ")) {
          String[] words = line.split(" ", -1);
          byte[][] data = shards(lines, Integer.parseInt(words[1]));
          vectors.add(new ReedSolomonVector(data, shards(lines, Integer.parseInt(words[2]))));
        }
      }
      return vectors;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static byte[][] shards(BufferedReader lines, int count) throws IOException {
    byte[][] shards = new byte[count][];
    for (int i = 0; i < count; i++) {
      shards[i] = HexFormat.of().parseHex(lines.readLine());
    }
    return shards;
  }

  @Override
  public String toString() {
    return data.length + "+" + parity.length + " of " + data[0].length + " bytes";
  }
}
