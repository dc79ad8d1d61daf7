package io.kcp4j.lab;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertLinesMatch;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.internal.fec.KcpGoFecDecoder;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The model of kcp-go writes the same segments at the same times as kcp-go itself, and recovers the
 * same packets. What kcp-go did was recorded by the command {@code trace} of src/interop; the
 * resource describes its format.
 */
class KcpGoTraceTest {

  private static final String RESOURCE = "/vectors/kcp-go-traces.txt.gz";

  private static final String COMMANDS = "PAQT";

  private static final int CONV = 1;

  /** One side of a session, or a stream to a FEC decoder. */
  private record Recording(String name, int intervalMs, List<String> lines) {

    @Override
    public String toString() {
      return name;
    }
  }

  static Stream<Recording> sessions() {
    return recordings().stream().filter(recording -> recording.intervalMs > 0);
  }

  static Stream<Recording> fecStreams() {
    return recordings().stream().filter(recording -> recording.intervalMs == 0);
  }

  private static List<Recording> recordings() {
    List<Recording> recordings = new ArrayList<>();
    String session = "";
    int intervalMs = 0;
    for (String line : lines()) {
      String[] words = line.split(" ", -1);
      switch (words[0]) {
        case "#" -> {}
        case "session" -> {
          session = words[1];
          intervalMs = Integer.parseInt(words[2]);
        }
        case "side" ->
            recordings.add(new Recording(session + " " + words[1], intervalMs, new ArrayList<>()));
        case "fec" -> recordings.add(new Recording(words[1], 0, new ArrayList<>()));
        default -> recordings.get(recordings.size() - 1).lines.add(line);
      }
    }
    return recordings;
  }

  private static List<String> lines() {
    try (GZIPInputStream in =
            new GZIPInputStream(KcpGoTraceTest.class.getResourceAsStream(RESOURCE));
        BufferedReader reader = new BufferedReader(new InputStreamReader(in, US_ASCII))) {
      return reader.lines().toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @MethodSource("sessions")
  void modelWritesWhatKcpGoHasWritten(Recording recording) {
    List<String> recorded =
        recording.lines.stream().filter(line -> line.contains(" out ")).toList();
    assertFalse(recorded.isEmpty());
    Replay replay = new Replay(recording.intervalMs);
    recording.lines.forEach(replay::perform);
    for (int i = 0; i < recorded.size(); i++) {
      assertEquals(recorded.get(i), replay.written.get(i), "datagram " + i);
    }
    assertEquals(recorded.size(), replay.written.size());
  }

  @ParameterizedTest
  @MethodSource("fecStreams")
  void modelRecoversWhatKcpGoHasRecovered(Recording recording) {
    KcpGoFecDecoder decoder = new KcpGoFecDecoder(1, 1);
    List<String> replayed = new ArrayList<>();
    for (String line : recording.lines) {
      String[] words = line.split(" ", -1);
      if (words[0].equals("in")) {
        replayed.add(line);
        decoder.input(Unpooled.wrappedBuffer(HexFormat.of().parseHex(words[1]))).stream()
            .map(datagram -> "recovered " + HexFormat.of().formatHex(datagram))
            .forEach(replayed::add);
      }
    }
    assertLinesMatch(recording.lines, replayed);
    assertTrue(replayed.stream().anyMatch(line -> line.startsWith("recovered")));
  }

  private static final class Replay {

    private final VirtualTime time = new VirtualTime();
    private final List<String> written = new ArrayList<>();
    private final KcpGoSession session;

    Replay(int intervalMs) {
      LabLink out =
          new LabLink(time, new SplittableRandom(1), LinkSettings.delay(0), this::written);
      LabUser reader = (session, data) -> {};
      session =
          new KcpGoSession(
              CONV, intervalMs, KcpGoSession.WINDOW, time, 0, out, reader, new KcpCounters());
    }

    private void written(ByteBuf datagram) {
      StringBuilder line = new StringBuilder().append(time.nowUs()).append(" out");
      for (int at = datagram.readerIndex();
          at < datagram.writerIndex();
          at += Segment.HEADER_BYTES + Segment.length(datagram, at)) {
        line.append(' ')
            .append(COMMANDS.charAt(Segment.cmd(datagram, at) - Segment.PUSH))
            .append(',')
            .append(Segment.sn(datagram, at))
            .append(',')
            .append(Segment.ts(datagram, at))
            .append(',')
            .append(Segment.una(datagram, at))
            .append(',')
            .append(Segment.wnd(datagram, at))
            .append(',')
            .append(Segment.length(datagram, at));
      }
      written.add(line.toString());
    }

    private void perform(String line) {
      String[] words = line.split(" ", -1);
      time.runUntil(Long.parseLong(words[0]));
      switch (words[1]) {
        case "write" -> {
          assertTrue(session.write(Unpooled.buffer().writeZero(Integer.parseInt(words[2]))));
          session.flush();
        }
        case "in" -> {
          session.input(datagram(words), Origin.NETWORK);
          session.read();
        }
        default -> {} // "out"
      }
    }

    private static ByteBuf datagram(String[] words) {
      ByteBuf datagram = Unpooled.buffer();
      for (int i = 2; i < words.length; i++) {
        String[] fields = words[i].split(",", -1);
        int cmd = Segment.PUSH + COMMANDS.indexOf(fields[0]);
        int sn = Integer.parseInt(fields[1]);
        int ts = Integer.parseInt(fields[2]);
        int una = Integer.parseInt(fields[3]);
        int wnd = Integer.parseInt(fields[4]);
        int length = Integer.parseInt(fields[5]);
        Segment.write(datagram, CONV, cmd, 0, wnd, ts, sn, una, length);
        datagram.writeZero(length);
      }
      return datagram;
    }
  }
}
