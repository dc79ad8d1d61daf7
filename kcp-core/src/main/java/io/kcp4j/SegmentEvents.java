package io.kcp4j;

import io.kcp4j.congestion.AckSample;
import io.kcp4j.congestion.CongestionControl;
import io.kcp4j.congestion.DeliveredTransmission;
import io.kcp4j.congestion.LossSample;
import java.util.Objects;

/**
 * Reports what is sent, acknowledged and lost to the session's {@link CongestionControl} and to its
 * {@link KcpTracer}, and sets the pacer to the control's rate. While there is neither nothing is
 * counted: callers look at {@link #isActive} before they report single segments.
 */
final class SegmentEvents {

  private final Sender sender;

  private CongestionControl control;

  /** Whether the window of the control does not count what is acknowledged behind a gap. */
  private boolean isSelective;

  /** Null until an initial window has been sent, and if the window does not follow the path. */
  private SendWindow sendWindow;

  /** What is handed to the control; null while there is neither a control nor a tracer. */
  private Samples samples;

  SegmentEvents(Sender sender) {
    this.sender = sender;
    use(create(sender.config, sender.size.mssBytes()), sender.size.mssBytes());
  }

  private static CongestionControl create(KcpConfig config, int mssBytes) {
    return Objects.requireNonNull(
        config.congestionControl().create(mssBytes), "congestionControl made null");
  }

  /**
   * The control for {@code config}, which the session does not use yet: the same as now, or a new
   * one if the factory is another.
   */
  CongestionControl successor(KcpConfig config, int mssBytes) {
    boolean isSame = config.congestionControl() == sender.config.congestionControl();
    return isSame ? control : create(config, mssBytes);
  }

  /**
   * Continues with the {@link #successor} for the settings that the session uses now, and tells it
   * if the segment size has changed.
   */
  void use(CongestionControl next, int mssBytesBefore) {
    boolean isResized = next == control && sender.size.mssBytes() != mssBytesBefore;
    if (next != control) {
      samples = null;
    }
    control = next;
    isSelective = next.isWindowSelective();
    updateSamples();
    if (isResized) {
      control.onMssChanged(sender.size.mssBytes());
    }
    sender.pacer.controlRate(control.pacingBytesPerSecond());
  }

  /** Begins or ends counting, as the congestion control and the tracer of the session demand. */
  void updateSamples() {
    if (sender.config.congestionControl() == CongestionControl.NONE && sender.tracing == null) {
      samples = null;
    } else if (samples == null) {
      samples = new Samples();
    }
  }

  /** Whether there is a congestion control or a tracer. */
  boolean isActive() {
    return samples != null;
  }

  /** Whether the control knows of a queue that stands on the path. */
  boolean isQueueStanding() {
    return control.isQueueStanding();
  }

  /** What the control knows and does. */
  CongestionStats stats() {
    Samples samples = this.samples; // Another thread may ask.
    return samples == null || sender.config.congestionControl() == CongestionControl.NONE
        ? CongestionStats.NONE
        : CongestionStats.of(control, samples.isApplicationLimited());
  }

  /** The send window, in segments. */
  int sendWindow() {
    KcpConfig config = sender.config;
    if (!config.isSendWindowTuned()) {
      return config.sendWindow();
    }
    int window = sendWindow == null ? KcpConfig.INITIAL_WINDOW : sendWindow.segments();
    return Math.min(window + acknowledgedBehindGap(), config.sendWindow());
  }

  /** A flush begins. Without a control, the send window may grow. */
  void updateSendWindow(long nowUs) {
    if (!sender.config.isSendWindowTuned()) {
      return;
    }
    if (sendWindow != null) {
      sendWindow.update(sender, nowUs);
    } else if (sender.buffer.next() - sender.firstSn >= KcpConfig.INITIAL_WINDOW) {
      sendWindow = new SendWindow(sender, nowUs);
    }
  }

  /** The window of the control. */
  int controlWindow() {
    return control.window();
  }

  /** How far beyond {@code una} segments may be in flight. */
  int window() {
    int window = control.window();
    if (!isSelective) {
      return window;
    }
    return (int) Math.min((long) window + acknowledgedBehindGap(), Integer.MAX_VALUE);
  }

  private int acknowledgedBehindGap() {
    return sender.inFlight() - sender.losses.unacknowledged();
  }

  /** Whether an acknowledgement opens the window though {@code una} has not advanced. */
  boolean isWindowSelective() {
    return isSelective || sendWindow != null;
  }

  /** A segment has been sent, header included {@code bytes} long. */
  void sent(int sn, int bytes, int transmissions, long nowUs) {
    control.onSegmentSent(sn, bytes, transmissions, nowUs);
    if (sender.tracing != null) {
      sender.tracing.sent(sn, bytes, transmissions);
    }
  }

  /** A segment is acknowledged by the datagram that is taken in. */
  void acknowledged(int sn, int bytes, DeliveredTransmission delivered, long nowUs) {
    samples.acknowledgedSegments++;
    samples.deliveredSegments++;
    samples.deliveredBytes += bytes;
    control.onSegmentAcknowledged(sn, delivered, nowUs);
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
    if (sender.tracing != null) {
      sender.tracing.lost(sn, cause);
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
    samples.sentBytes = sender.pacer.chargedBytes();
    samples.nowUs = nowUs;
    control.onAck(samples);
    if (sender.tracing != null) {
      sender.tracing.acknowledged(samples.acknowledgedSegments, rttUs);
      traceState();
    }
    samples.acknowledgedSegments = 0;
    samples.lostSegments = 0;
    sender.pacer.controlRate(control.pacingBytesPerSecond());
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
    if (sender.tracing != null) {
      traceState();
    }
    sender.pacer.controlRate(control.pacingBytesPerSecond());
  }

  private void traceState() {
    sender.tracing.state(control.window());
    if (!control.state().isEmpty()) {
      sender.tracing.congestion(control, samples.isApplicationLimited());
    }
  }

  /** The peer has said that it takes more, and has not been asked, or it ends an outage. */
  void windowUpdated() {
    control.onWindowUpdate();
    sender.pacer.controlRate(control.pacingBytesPerSecond());
  }

  /** The application has nothing more to send while {@code unacknowledged} are in flight. */
  void applicationLimited(int unacknowledged) {
    samples.limitedUntil = samples.deliveredSegments + unacknowledged;
    control.onApplicationLimited();
  }

  /** Both samples of a session. */
  private static final class Samples implements AckSample, LossSample {

    private long nowUs;
    private int rttUs;
    private int acknowledgedSegments;
    private int lostSegments;
    private long deliveredSegments;
    private long deliveredBytes;
    private long sentBytes;
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
    public long sentBytes() {
      return sentBytes;
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
