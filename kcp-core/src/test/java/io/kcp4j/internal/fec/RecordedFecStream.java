package io.kcp4j.internal.fec;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/**
 * The packets of the FEC encoder of kcp-go for some payloads.
 *
 * @param steps one for each payload
 */
record RecordedFecStream(
    int dataShards, int parityShards, long firstSeqid, List<RecordedFecStream.Step> steps) {

  /** A payload's data packet, and the parity packets that followed it. */
  static final class Step {

    final byte[] data;

    /** Whether it was sent 500 ms or more after the previous packet. */
    final boolean isLate;

    final List<byte[]> parity = new ArrayList<>();

    Step(byte[] data, boolean isLate) {
      this.data = data;
      this.isLate = isLate;
    }

    byte[] payload() {
      return Arrays.copyOfRange(data, FecPacket.DATA_HEADER_BYTES, data.length);
    }
  }

  private static final String RESOURCE = "/vectors/fec-streams.txt";

  static List<RecordedFecStream> all() {
    List<RecordedFecStream> streams = new ArrayList<>();
    try (InputStream in = RecordedFecStream.class.getResourceAsStream(RESOURCE);
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, US_ASCII))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        read(line.split(" ", -1), streams);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return streams;
  }

  private static void read(String[] words, List<RecordedFecStream> streams) {
    switch (words[0]) {
      case "#" -> {}
      case "stream" ->
          streams.add(
              new RecordedFecStream(
                  Integer.parseInt(words[1]),
                  Integer.parseInt(words[2]),
                  Long.parseLong(words[3]),
                  new ArrayList<>()));
      case "parity" -> last(last(streams).steps()).parity.add(bytes(words[1]));
      default -> last(streams).steps().add(new Step(bytes(words[1]), words[0].equals("late")));
    }
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex);
  }

  private static <T> T last(List<T> list) {
    return list.get(list.size() - 1);
  }

  /** Data and parity of every group in which parity was sent. */
  List<List<byte[]>> groups() {
    List<List<byte[]>> groups = new ArrayList<>();
    List<byte[]> group = new ArrayList<>();
    for (Step step : steps) {
      group.add(step.data);
      if (group.size() == dataShards) {
        group.addAll(step.parity);
        if (!step.parity.isEmpty()) {
          groups.add(group);
        }
        group = new ArrayList<>();
      }
    }
    return groups;
  }

  @Override
  public String toString() {
    return dataShards + "/" + parityShards + " from " + firstSeqid;
  }
}
