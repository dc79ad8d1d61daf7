package io.kcp4j.lab;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpCounters;
import io.kcp4j.Segment;
import io.kcp4j.sim.VirtualTime;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The model of kcp-go writes the same segments at the same times as kcp-go itself. What kcp-go did
 * was recorded by the command {@code trace} of src/interop; the resource describes its format.
 */
class KcpGoTraceTest {

  private static final String RESOURCE = "/vectors/kcp-go-traces.txt.gz";

  private static final String COMMANDS = "PAQT";

  private static final int CONV = 1;

  /** One side of a conversation. */
  private record Recording(String session, String side, int intervalMs, List<String> lines) {

    @Override
    public String toString() {
      return session + " " + side;
    }
  }

  static Stream<Recording> recordings() {
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
            recordings.add(new Recording(session, words[1], intervalMs, new ArrayList<>()));
        default -> recordings.get(recordings.size() - 1).lines.add(line);
      }
    }
    return recordings.stream();
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
  @MethodSource("recordings")
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

  private static final class Replay {

    private final VirtualTime time = new VirtualTime();
    private final List<String> written = new ArrayList<>();
    private final KcpGoSession session;

    Replay(int intervalMs) {
      LabLink out =
          new LabLink(time, new SplittableRandom(1), LinkSettings.delay(0), this::written);
      LabUser reader = (session, data) -> {};
      session = new KcpGoSession(CONV, intervalMs, time, 0, out, reader, new KcpCounters());
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
          session.input(datagram(words));
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
