package io.kcp4j;

import io.kcp4j.congestion.AckSample;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.congestion.LossSample;
import io.kcp4j.congestion.Pacer;
import java.util.Objects;

/**
 * Reports what is sent, acknowledged and lost to the session's {@link CongestionControl} and to its
 * {@link KcpTracer}, and sets the pacer to the control's rate. While there is neither nothing is
 * counted: callers look at {@link #isActive} before they report single segments.
 */
final class SegmentEvents {

  private final Pacer pacer;

  private CongestionControl control;
  private CongestionControl.Factory factory;
  private int mssBytes;

  /** What is handed to the control; null while there is neither a control nor a tracer. */
  private Samples samples;

  /** Null while there is no tracer. */
  private Tracing tracing;

  SegmentEvents(KcpConfig config, int mssBytes, Pacer pacer) {
    this.pacer = pacer;
    use(create(config, mssBytes), config, mssBytes);
  }

  private static CongestionControl create(KcpConfig config, int mssBytes) {
    return Objects.requireNonNull(
        config.congestionControl().create(mssBytes), "congestionControl made null");
  }

  /** The control for {@code config}: this one, or a new one if the factory is another. */
  CongestionControl successor(KcpConfig config, int mssBytes) {
    return config.congestionControl() == factory ? control : create(config, mssBytes);
  }

  /** Continues with the {@link #successor}, and tells it if the segment size has changed. */
  void use(CongestionControl next, KcpConfig config, int mssBytes) {
    boolean isResized = next == control && mssBytes != this.mssBytes;
    if (next != control) {
      samples = null;
    }
    control = next;
    factory = config.congestionControl();
    updateSamples();
    this.mssBytes = mssBytes;
    if (isResized) {
      control.onMssChanged(mssBytes);
    }
    pacer.controlRate(control.pacingBytesPerSecond());
  }

  /** Sets the tracer, or null for none. */
  void tracing(Tracing tracing) {
    this.tracing = tracing;
    updateSamples();
  }

  private void updateSamples() {
    if (factory == CongestionControl.NONE && tracing == null) {
      samples = null;
    } else if (samples == null) {
      samples = new Samples();
    }
  }

  /** Whether there is a congestion control or a tracer. */
  boolean isActive() {
    return samples != null;
  }

  /** How many segments may be in flight. */
  int window() {
    return control.window();
  }

  /** A segment has been sent, header included {@code bytes} long. */
  void sent(int sn, int bytes, int transmissions, long nowUs) {
    control.onSegmentSent(sn, bytes, transmissions, nowUs);
    if (tracing != null) {
      tracing.sent(sn, bytes, transmissions);
    }
  }

  /** A segment is acknowledged by the datagram that is taken in. */
  void acknowledged(int sn, int bytes, long nowUs) {
    samples.acknowledgedSegments++;
    samples.deliveredSegments++;
    samples.deliveredBytes += bytes;
    control.onSegmentAcknowledged(sn, nowUs);
  }

  /** A segment counts as lost. */
  void lost(int sn, LossCause cause, long nowUs) {
    samples.lostSegments++;
    if (cause == LossCause.TIMEOUT) {
      samples.lostByTimeout++;
    } else {
      samples.lostByAcks++;
    }
    control.onSegmentLost(sn, nowUs);
    if (tracing != null) {
      tracing.lost(sn, cause);
    }
  }

  /**
   * A datagram has been taken in.
   *
   * @param rttUs its shortest round-trip time, or {@link AckSample#NO_RTT}
   */
  void endInput(int rttUs, boolean unaAdvanced, int inFlight, int remoteWindow, long nowUs) {
    if (samples.acknowledgedSegments == 0 && !unaAdvanced) {
      return;
    }
    samples.rttUs = rttUs;
    samples.unaAdvanced = unaAdvanced;
    samples.inFlightSegments = inFlight;
    samples.remoteWindow = remoteWindow;
    samples.nowUs = nowUs;
    control.onAck(samples);
    if (tracing != null) {
      tracing.acknowledged(samples.acknowledgedSegments, rttUs, control.window());
    }
    samples.acknowledgedSegments = 0;
    samples.lostSegments = 0;
    pacer.controlRate(control.pacingBytesPerSecond());
  }

  /**
   * A flush has ended.
   *
   * @param inFlight segments from the oldest that is unacknowledged to the newest sent
   * @param window the window in force when the flush began
   */
  void endFlush(int inFlight, int window, int fastRetransmit, long nowUs) {
    if (samples.lostByAcks + samples.lostByTimeout > 0) {
      samples.inFlightSegments = inFlight;
      samples.window = window;
      samples.fastRetransmit = fastRetransmit;
      samples.nowUs = nowUs;
      control.onLoss(samples);
      samples.lostByAcks = 0;
      samples.lostByTimeout = 0;
    }
    if (tracing != null) {
      tracing.state(control.window());
    }
    pacer.controlRate(control.pacingBytesPerSecond());
  }

  /** The application has nothing more to send while {@code unacknowledged} are in flight. */
  void applicationLimited(int unacknowledged) {
    samples.limitedUntil = samples.deliveredSegments + unacknowledged;
  }

  /** Both samples of a session. */
  private static final class Samples implements AckSample, LossSample {

    private long nowUs;
    private int rttUs;
    private int acknowledgedSegments;
    private int lostSegments;
    private long deliveredSegments;
    private long deliveredBytes;
    private int inFlightSegments;
    private int remoteWindow;
    private boolean unaAdvanced;
    private int lostByAcks;
    private int lostByTimeout;
    private int window;
    private int fastRetransmit;

    /** The last segment that was sent while the application was the limit, counted as delivered. */
    private long limitedUntil;

    @Override
    public long nowUs() {
      return nowUs;
    }

    @Override
    public int rttUs() {
      return rttUs;
    }

    @Override
    public int acknowledgedSegments() {
      return acknowledgedSegments;
    }

    @Override
    public int lostSegments() {
      return lostSegments;
    }

    @Override
    public long deliveredSegments() {
      return deliveredSegments;
    }

    @Override
    public long deliveredBytes() {
      return deliveredBytes;
    }

    @Override
    public int inFlightSegments() {
      return inFlightSegments;
    }

    @Override
    public int remoteWindow() {
      return remoteWindow;
    }

    @Override
    public boolean isUnaAdvanced() {
      return unaAdvanced;
    }

    @Override
    public boolean isApplicationLimited() {
      return deliveredSegments <= limitedUntil;
    }

    @Override
    public int lostByAcks() {
      return lostByAcks;
    }

    @Override
    public int lostByTimeout() {
      return lostByTimeout;
    }

    @Override
    public int window() {
      return window;
    }

    @Override
    public int fastRetransmit() {
      return fastRetransmit;
    }
  }
}
