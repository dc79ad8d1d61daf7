package io.kcp4j.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.EndReason;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import io.kcp4j.trace.QlogTracer.VantagePoint;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Each event is one record of a JSON text sequence. */
class QlogTracerTest {

  private final List<String> records = new ArrayList<>();
  private final QlogTracer tracer =
      new QlogTracer("/10.0.0.1:4000 conv 7", VantagePoint.SERVER, new Records());

  private boolean fails;
  private int closed;

  @Test
  void firstRecordIsTheHeaderOfTheTrace() {
    assertEquals(
        "\u001e{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\","
            + "\"serialization_format\":\"application/qlog+json-seq\","
            + "\"trace\":{\"title\":\"/10.0.0.1:4000 conv 7\","
            + "\"vantage_point\":{\"type\":\"server\"},"
            + "\"event_schemas\":[\"urn:kcp4j:qlog:events:kcp\"],"
            + "\"common_fields\":{\"time_format\":\"relative_to_epoch\","
            + "\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}}\n",
        records.get(0));
    assertEquals(1, records.size());
  }

  @Test
  void titleIsEscaped() {
    new QlogTracer("a \"b\" \\ \n", VantagePoint.CLIENT, new Records());
    String header = records.get(1);
    assertTrue(header.contains("\"title\":\"a \\\"b\\\" \\\\ \\u000a\""), header);
  }

  @Test
  void timesAreMillisecondsSinceTheFirstEvent() {
    tracer.datagramsSent(5_000_000, 1, 24);
    tracer.datagramsSent(5_000_007, 1, 24);
    tracer.datagramsSent(5_012_345, 1, 24);
    assertTrue(records.get(1).startsWith("\u001e{\"time\":0.000,"), records.get(1));
    assertTrue(records.get(2).startsWith("\u001e{\"time\":0.007,"), records.get(2));
    assertTrue(records.get(3).startsWith("\u001e{\"time\":12.345,"), records.get(3));
  }

  @Test
  void datagramsAreWritten() {
    tracer.datagramsSent(0, 3, 1400);
    tracer.datagramReceived(0, 52, Origin.NETWORK);
    tracer.datagramReceived(0, 53, Origin.RECOVERED);
    assertEvent(1, "datagrams_sent", "\"count\":3,\"raw\":{\"length\":1400}");
    assertEvent(2, "datagram_received", "\"raw\":{\"length\":52}");
    assertEvent(3, "datagram_received", "\"raw\":{\"length\":53},\"recovered\":true");
  }

  @Test
  void segmentsAreWrittenWithUnsignedSequenceNumbers() {
    tracer.segmentSent(0, -1, 1376, 1);
    tracer.segmentLost(0, -1, LossCause.FAST_RETRANSMIT);
    tracer.segmentSent(0, -1, 1376, 2);
    tracer.acknowledged(0, -1, 4, 12_500);
    tracer.acknowledged(0, 0, 1, -1);
    assertEvent(
        1,
        "packet_sent",
        "\"header\":{\"packet_number\":4294967295},\"raw\":{\"payload_length\":1376},"
            + "\"transmission\":1");
    assertEvent(
        2,
        "packet_lost",
        "\"header\":{\"packet_number\":4294967295},\"trigger\":\"fast_retransmit\"");
    assertEvent(
        3,
        "packet_retransmitted",
        "\"header\":{\"packet_number\":4294967295},\"raw\":{\"payload_length\":1376},"
            + "\"transmission\":2");
    assertEvent(4, "packets_acked", "\"una\":4294967295,\"count\":4,\"latest_rtt\":12.500");
    assertEvent(5, "packets_acked", "\"una\":0,\"count\":1");
  }

  @Test
  void onlyChangedStateIsWritten() {
    tracer.stateUpdated(0, 20_000, 5_000, 40_000, 256, 128, 3, 0);
    tracer.stateUpdated(0, 20_000, 5_000, 40_000, 256, 128, 3, 0);
    tracer.stateUpdated(0, 20_000, 5_000, 40_000, 256, 127, 4, 0);
    assertEvent(
        1,
        "recovery_metrics_updated",
        "\"smoothed_rtt\":20.000,\"rtt_variance\":5.000,\"retransmission_timeout\":40.000,"
            + "\"congestion_window\":256,\"remote_window\":128,\"packets_in_flight\":3,"
            + "\"packets_queued\":0");
    assertEvent(2, "recovery_metrics_updated", "\"remote_window\":127,\"packets_in_flight\":4");
    assertEquals(3, records.size());
  }

  @Test
  void onlyWhatHasChangedOfTheCongestionControlIsWritten() {
    tracer.congestionUpdated(0, "PROBE_RTT", 2_000, 3_000, 1_500, true);
    tracer.congestionUpdated(0, "PROBE_RTT", 2_000, 3_000, 1_500, true);
    tracer.congestionUpdated(0, "DOWN", 2_500, 3_000, 1_500, false);
    assertEvent(
        1,
        "congestion_updated",
        "\"state\":\"probe_rtt\",\"pacing_rate\":16000,\"bandwidth\":24000,\"queue\":1.500,"
            + "\"app_limited\":true");
    assertEvent(
        2, "congestion_updated", "\"state\":\"down\",\"pacing_rate\":20000,\"app_limited\":false");
    assertEquals(3, records.size());
  }

  @Test
  void failureIsWritten() {
    tracer.failed(0, EndReason.DEAD_LINK);
    assertEvent(1, "session_failed", "\"trigger\":\"dead_link\"");
  }

  @Test
  void recordAfterAFailureOfTheOutputIsWhole() {
    fails = true;
    assertThrows(IllegalStateException.class, () -> tracer.datagramsSent(0, 1, 24));
    fails = false;
    tracer.datagramsSent(0, 2, 24);
    assertEvent(1, "datagrams_sent", "\"count\":2,\"raw\":{\"length\":24}");
  }

  @Test
  void outputIsClosedWithTheSession() {
    assertEquals(0, closed);
    tracer.closed();
    assertEquals(1, closed);
  }

  @Test
  void eventsOfLanesAreWritten() {
    tracer.laneMessageSent(0, 3, 50);
    tracer.laneMessageReceived(0, 4, 60);
    tracer.laneBlocked(0, 5);
    tracer.laneOutputEnded(0, 6);
    tracer.laneInputEnded(0, 7);
    assertEvent(1, "lane_message_sent", "\"lane\":3,\"raw\":{\"length\":50}");
    assertEvent(2, "lane_message_received", "\"lane\":4,\"raw\":{\"length\":60}");
    assertEvent(3, "lane_blocked", "\"lane\":5");
    assertEvent(4, "lane_output_ended", "\"lane\":6");
    assertEvent(5, "lane_input_ended", "\"lane\":7");
  }

  private void assertEvent(int record, String name, String data) {
    assertEquals(
        "\u001e{\"time\":0.000,\"name\":\"kcp:" + name + "\",\"data\":{" + data + "}}\n",
        records.get(record));
  }

  private final class Records implements QlogTracer.Output {
    @Override
    public void write(CharSequence record) {
      if (fails) {
        throw new IllegalStateException("disk full");
      }
      records.add(record.toString());
    }

    @Override
    public void close() {
      closed++;
    }
  }
}
