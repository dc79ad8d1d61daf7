package io.kcp4j.trace;

import io.kcp4j.EndReason;
import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.KcpTracer.Origin;
import java.util.Locale;
import java.util.Objects;

/**
 * Writes what a session does as qlog (draft-ietf-quic-qlog-main-schema), one JSON text sequence
 * (RFC 7464) a session. Each record is one JSON object between a record separator and a line feed;
 * the first is the header of the trace. Times are milliseconds since the tracer's first event.
 *
 * <p>The events are KCP's own, in namespace {@code kcp}; their fields have the names of QUIC's
 * events (draft-ietf-quic-qlog-quic-events) where they mean the same. Unlike QUIC's, the congestion
 * window counts segments, and {@code packet_number} is a segment's sequence number, which a
 * retransmission repeats.
 */
public final class QlogTracer implements KcpTracer {

  /** Which side of the session is traced. */
  public enum VantagePoint {
    CLIENT,
    SERVER
  }

  /** Takes the records of one trace, on the session's thread. Its methods must not throw. */
  public interface Output {

    /** Writes a record, which is valid during the call only. */
    void write(CharSequence record);

    /** The trace has ended. */
    void close();
  }

  private static final char RECORD_SEPARATOR = 0x1e;

  private final Output output;
  private final StringBuilder record = new StringBuilder(256);

  private boolean begun;
  private long originUs;

  private int srttUs = -1;
  private int rttVarUs = -1;
  private int rtoUs = -1;
  private int congestionWindow = -1;
  private int remoteWindow = -1;
  private int inFlight = -1;
  private int queued = -1;
  private String congestionState = "";
  private long pacingBytesPerSecond = -1;
  private long bandwidthBytesPerSecond = -1;
  private int queueUs = -1;
  private boolean isApplicationLimited;

  /**
   * Makes a tracer of one session and writes the header.
   *
   * @param session the title of the trace, for instance the peer's address and conv
   * @param vantagePoint the side that is traced
   * @param output takes the records
   */
  public QlogTracer(String session, VantagePoint vantagePoint, Output output) {
    this.output = Objects.requireNonNull(output, "output");
    record.append(RECORD_SEPARATOR);
    record.append("{\"file_schema\":\"urn:ietf:params:qlog:file:sequential\"");
    record.append(",\"serialization_format\":\"application/qlog+json-seq\"");
    record.append(",\"trace\":{\"title\":");
    appendString(session);
    record.append(",\"vantage_point\":{\"type\":\"");
    record.append(vantagePoint.name().toLowerCase(Locale.ROOT));
    record.append("\"},\"event_schemas\":[\"urn:kcp4j:qlog:events:kcp\"]");
    record.append(",\"common_fields\":{\"time_format\":\"relative_to_epoch\"");
    record.append(",\"reference_time\":{\"clock_type\":\"monotonic\",\"epoch\":\"unknown\"}}}}");
    endRecord();
  }

  @Override
  public void datagramsSent(long nowUs, int datagrams, int bytesEach) {
    begin(nowUs, "datagrams_sent");
    field("count", datagrams);
    raw("length", bytesEach);
    end();
  }

  @Override
  public void datagramReceived(long nowUs, int bytes, Origin origin) {
    begin(nowUs, "datagram_received");
    raw("length", bytes);
    if (origin == Origin.RECOVERED) {
      record.append(",\"recovered\":true");
    }
    end();
  }

  @Override
  public void segmentSent(long nowUs, int sn, int payloadBytes, int transmission) {
    begin(nowUs, transmission == 1 ? "packet_sent" : "packet_retransmitted");
    packetNumber(sn);
    raw("payload_length", payloadBytes);
    field("transmission", transmission);
    end();
  }

  @Override
  public void segmentLost(long nowUs, int sn, LossCause cause) {
    begin(nowUs, "packet_lost");
    packetNumber(sn);
    trigger(cause);
    end();
  }

  @Override
  public void acknowledged(long nowUs, int una, int segments, int rttUs) {
    begin(nowUs, "packets_acked");
    field("una", Integer.toUnsignedLong(una));
    field("count", segments);
    if (rttUs >= 0) {
      milliseconds("latest_rtt", rttUs);
    }
    end();
  }

  /** Writes those values that differ from the last ones, and nothing if none does. */
  @Override
  public void stateUpdated(
      long nowUs,
      int srttUs,
      int rttVarUs,
      int rtoUs,
      int congestionWindow,
      int remoteWindow,
      int inFlight,
      int queued) {
    begin(nowUs, "recovery_metrics_updated");
    int empty = record.length();
    if (this.srttUs != srttUs) {
      milliseconds("smoothed_rtt", srttUs);
    }
    if (this.rttVarUs != rttVarUs) {
      milliseconds("rtt_variance", rttVarUs);
    }
    if (this.rtoUs != rtoUs) {
      milliseconds("retransmission_timeout", rtoUs);
    }
    if (this.congestionWindow != congestionWindow) {
      field("congestion_window", congestionWindow);
    }
    if (this.remoteWindow != remoteWindow) {
      field("remote_window", remoteWindow);
    }
    if (this.inFlight != inFlight) {
      field("packets_in_flight", inFlight);
    }
    if (this.queued != queued) {
      field("packets_queued", queued);
    }
    this.srttUs = srttUs;
    this.rttVarUs = rttVarUs;
    this.rtoUs = rtoUs;
    this.congestionWindow = congestionWindow;
    this.remoteWindow = remoteWindow;
    this.inFlight = inFlight;
    this.queued = queued;
    endUnlessEmpty(empty);
  }

  /** As for {@link #stateUpdated}; rates are in bits per second. */
  @Override
  public void congestionUpdated(
      long nowUs,
      String state,
      long pacingBytesPerSecond,
      long bandwidthBytesPerSecond,
      int queueUs,
      boolean isApplicationLimited) {
    begin(nowUs, "congestion_updated");
    int empty = record.length();
    if (!congestionState.equals(state)) {
      separate();
      record.append("\"state\":");
      appendString(state.toLowerCase(Locale.ROOT));
    }
    if (this.pacingBytesPerSecond != pacingBytesPerSecond) {
      field("pacing_rate", Byte.SIZE * pacingBytesPerSecond);
    }
    if (this.bandwidthBytesPerSecond != bandwidthBytesPerSecond) {
      field("bandwidth", Byte.SIZE * bandwidthBytesPerSecond);
    }
    if (this.queueUs != queueUs) {
      milliseconds("queue", queueUs);
    }
    if (this.isApplicationLimited != isApplicationLimited) {
      separate();
      record.append("\"app_limited\":").append(isApplicationLimited);
    }
    congestionState = state;
    this.pacingBytesPerSecond = pacingBytesPerSecond;
    this.bandwidthBytesPerSecond = bandwidthBytesPerSecond;
    this.queueUs = queueUs;
    this.isApplicationLimited = isApplicationLimited;
    endUnlessEmpty(empty);
  }

  @Override
  public void laneMessageSent(long nowUs, int lane, int bytes) {
    laneMessage(nowUs, "lane_message_sent", lane, bytes);
  }

  @Override
  public void laneMessageReceived(long nowUs, int lane, int bytes) {
    laneMessage(nowUs, "lane_message_received", lane, bytes);
  }

  private void laneMessage(long nowUs, String name, int lane, int bytes) {
    begin(nowUs, name);
    field("lane", lane);
    raw("length", bytes);
    end();
  }

  @Override
  public void laneBlocked(long nowUs, int lane) {
    laneEvent(nowUs, "lane_blocked", lane);
  }

  @Override
  public void laneOutputEnded(long nowUs, int lane) {
    laneEvent(nowUs, "lane_output_ended", lane);
  }

  @Override
  public void laneInputEnded(long nowUs, int lane) {
    laneEvent(nowUs, "lane_input_ended", lane);
  }

  private void laneEvent(long nowUs, String name, int lane) {
    begin(nowUs, name);
    field("lane", lane);
    end();
  }

  @Override
  public void failed(long nowUs, EndReason failure) {
    begin(nowUs, "session_failed");
    trigger(failure);
    end();
  }

  @Override
  public void closed() {
    output.close();
  }

  private void begin(long nowUs, String name) {
    if (!begun) {
      begun = true;
      originUs = nowUs;
    }
    record.append(RECORD_SEPARATOR).append("{\"time\":");
    appendMilliseconds(nowUs - originUs);
    record.append(",\"name\":\"kcp:").append(name).append("\",\"data\":{");
  }

  /** Ends the record, or drops it if nothing was added to its {@code empty} characters. */
  private void endUnlessEmpty(int empty) {
    if (record.length() == empty) {
      record.setLength(0);
    } else {
      end();
    }
  }

  private void end() {
    record.append("}}");
    endRecord();
  }

  private void endRecord() {
    record.append('\n');
    try {
      output.write(record);
    } finally {
      record.setLength(0);
    }
  }

  private void packetNumber(int sn) {
    separate();
    record.append("\"header\":{\"packet_number\":").append(Integer.toUnsignedLong(sn)).append('}');
  }

  private void raw(String name, int bytes) {
    separate();
    record.append("\"raw\":{\"").append(name).append("\":").append(bytes).append('}');
  }

  private void trigger(Enum<?> cause) {
    separate();
    record.append("\"trigger\":\"").append(cause.name().toLowerCase(Locale.ROOT)).append('"');
  }

  private void field(String name, long value) {
    separate();
    record.append('"').append(name).append("\":").append(value);
  }

  private void milliseconds(String name, int us) {
    separate();
    record.append('"').append(name).append("\":");
    appendMilliseconds(us);
  }

  private void separate() {
    if (record.charAt(record.length() - 1) != '{') {
      record.append(',');
    }
  }

  private void appendMilliseconds(long us) {
    record.append(us / 1000).append('.');
    long fraction = us % 1000;
    record.append(fraction < 100 ? fraction < 10 ? "00" : "0" : "").append(fraction);
  }

  private void appendString(String text) {
    record.append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        record.append('\\').append(c);
      } else if (c < ' ') {
        record.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        record.append(c);
      }
    }
    record.append('"');
  }
}
