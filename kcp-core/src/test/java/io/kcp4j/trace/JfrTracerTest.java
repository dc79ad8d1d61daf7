package io.kcp4j.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kcp4j.EndReason;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each event ends in a recording in which it is enabled, with its session's name. */
class JfrTracerTest {

  @TempDir Path directory;

  @Test
  void enabledEventsAreRecorded() throws IOException {
    List<RecordedEvent> events =
        record(
            "kcp4j.DatagramsSent",
            "kcp4j.DatagramReceived",
            "kcp4j.SegmentSent",
            "kcp4j.SegmentLost",
            "kcp4j.Acknowledged");
    assertEquals(
        List.of(
            "kcp4j.DatagramsSent",
            "kcp4j.DatagramReceived",
            "kcp4j.SegmentSent",
            "kcp4j.SegmentLost",
            "kcp4j.Acknowledged",
            "kcp4j.State",
            "kcp4j.Congestion",
            "kcp4j.SessionFailed"),
        events.stream().map(event -> event.getEventType().getName()).toList());
    events.forEach(event -> assertEquals("peer", event.getString("session")));
    assertEquals(3, events.get(0).getInt("datagrams"));
    assertEquals(1400, events.get(0).getInt("bytesEach"));
    assertEquals(52, events.get(1).getInt("bytes"));
    assertEquals(true, events.get(1).getBoolean("recovered"));
    assertEquals(0xffff_ffffL, events.get(2).getLong("sn"));
    assertEquals(1376, events.get(2).getInt("payloadBytes"));
    assertEquals(2, events.get(2).getInt("transmission"));
    assertEquals("TIMEOUT", events.get(3).getString("cause"));
    assertEquals(4, events.get(4).getInt("segments"));
    assertEquals(12_500_000, events.get(4).getDuration("rtt").toNanos());
    assertEquals(20_000_000, events.get(5).getDuration("srtt").toNanos());
    assertEquals(5_000_000, events.get(5).getDuration("rttVar").toNanos());
    assertEquals(40_000_000, events.get(5).getDuration("rto").toNanos());
    assertEquals(256, events.get(5).getInt("congestionWindow"));
    assertEquals(128, events.get(5).getInt("remoteWindow"));
    assertEquals(3, events.get(5).getInt("inFlight"));
    assertEquals(9, events.get(5).getInt("queued"));
    assertEquals("DRAIN", events.get(6).getString("state"));
    assertEquals(2_000, events.get(6).getLong("pacingRate"));
    assertEquals(3_000, events.get(6).getLong("bandwidth"));
    assertEquals(1_500_000, events.get(6).getDuration("queue").toNanos());
    assertEquals(true, events.get(6).getBoolean("applicationLimited"));
    assertEquals("DEAD_LINK", events.get(7).getString("failure"));
  }

  @Test
  void eventsOfDatagramsAndSegmentsAreNotEnabledByDefault() throws IOException {
    assertEquals(
        List.of("kcp4j.State", "kcp4j.Congestion", "kcp4j.SessionFailed"),
        record().stream().map(event -> event.getEventType().getName()).toList());
  }

  @Test
  void eventsOfLanesAreRecordedIfTheyAreEnabled() throws IOException {
    List<RecordedEvent> events =
        record(
            tracer -> {
              tracer.laneMessageSent(0, 3, 50);
              tracer.laneMessageReceived(0, 4, 60);
              tracer.laneBlocked(0, 5);
              tracer.laneOutputEnded(0, 6);
              tracer.laneInputEnded(0, 7);
            },
            "kcp4j.LaneMessageSent",
            "kcp4j.LaneMessageReceived",
            "kcp4j.LaneBlocked",
            "kcp4j.LaneOutputEnded",
            "kcp4j.LaneInputEnded");
    assertEquals(
        List.of("3", "4", "5", "6", "7"),
        events.stream().map(event -> "" + event.getInt("lane")).toList());
    assertEquals(50, events.get(0).getInt("bytes"));
    assertEquals(60, events.get(1).getInt("bytes"));
    events.forEach(event -> assertEquals("peer", event.getString("session")));
  }

  private List<RecordedEvent> record(String... enabled) throws IOException {
    return record(JfrTracerTest::trace, enabled);
  }

  private List<RecordedEvent> record(Consumer<JfrTracer> traced, String... enabled)
      throws IOException {
    Path file = directory.resolve("kcp4j.jfr");
    try (Recording recording = new Recording()) {
      Stream.of(enabled).forEach(recording::enable);
      recording.start();
      traced.accept(new JfrTracer("peer"));
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file).stream()
        .filter(event -> event.getEventType().getName().startsWith("kcp4j."))
        .toList();
  }

  private static void trace(JfrTracer tracer) {
    tracer.datagramsSent(0, 3, 1400);
    tracer.datagramReceived(0, 52, Origin.RECOVERED);
    tracer.segmentSent(0, -1, 1376, 2);
    tracer.segmentLost(0, -1, LossCause.TIMEOUT);
    tracer.acknowledged(0, 7, 4, 12_500);
    tracer.stateUpdated(0, 20_000, 5_000, 40_000, 256, 128, 3, 9);
    tracer.congestionUpdated(0, "DRAIN", 2_000, 3_000, 1_500, true);
    tracer.failed(0, EndReason.DEAD_LINK);
  }
}
