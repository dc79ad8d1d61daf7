package io.kcp4j.internal.send;

import io.kcp4j.AckSample;
import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpStats;
import io.kcp4j.KcpTracer;
import io.kcp4j.KcpTracer.LossCause;
import io.kcp4j.LossSample;
import io.kcp4j.internal.recovery.DeliveryRate;
import io.kcp4j.internal.recovery.LossDetector;
import io.kcp4j.internal.wire.Segment;
import java.util.Objects;

/**
 * Reports what is acknowledged and lost to the session's {@link CongestionControl} and to its
 * {@link KcpTracer}, and takes the window and the pacing rate from the control. While there is
 * neither nothing is counted: callers look at {@link #isActive} before they report.
 */
public final class SegmentEvents {

  private final Sender sender;

  private CongestionControl control;

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
  public CongestionControl successor(KcpConfig config, int mssBytes) {
    boolean isSame = config.congestionControl() == sender.config.congestionControl();
    return isSame ? control : create(config, mssBytes);
  }

  /**
   * Continues with the {@link #successor} for the settings that the session uses now, and tells it
   * if the segment size has changed.
   */
  public void use(CongestionControl next, int mssBytesBefore) {
    if (next != control) {
      control = next;
      samples = null;
      sender.losses.ring.dropDeliveries();
      sender.losses.rate = next.usesDeliveryRate() ? new DeliveryRate(segmentBytes()) : null;
    } else if (sender.size.mssBytes() != mssBytesBefore) {
      control.onMssChanged(sender.size.mssBytes());
      if (sender.losses.rate != null) {
        sender.losses.rate.segmentBytes(segmentBytes());
      }
    }
    updateSamples();
    sender.pacer.controlRate(control.pacingBytesPerSecond());
  }

  private int segmentBytes() {
    return sender.size.mssBytes() + Segment.HEADER_BYTES;
  }

  /** Begins or ends counting, as the congestion control and the tracer of the session demand. */
  public void updateSamples() {
    if (sender.config.congestionControl() == CongestionControl.NONE && sender.tracing == null) {
      samples = null;
    } else if (samples == null) {
      samples = new Samples(sender.losses.rate);
    }
  }

  /** Whether there is a congestion control or a tracer. */
  public boolean isActive() {
    return samples != null;
  }

  /** Whether the control knows of a queue that stands on the path. */
  public boolean isQueueStanding() {
    return control.isQueueStanding();
  }

  /** What the control knows and does. */
  public KcpStats.Congestion stats() {
    Samples samples = this.samples; // Another thread may ask.
    return samples == null || sender.config.congestionControl() == CongestionControl.NONE
        ? KcpStats.Congestion.NONE
        : KcpStats.Congestion.of(control, samples.isApplicationLimited());
  }

  // Windows

  /** The send window, in segments. */
  int sendWindow() {
    KcpConfig config = sender.config;
    if (!isWindowTuned(config)) {
      return config.sendWindow();
    }
    int window = sendWindow == null ? KcpConfig.INITIAL_WINDOW : sendWindow.segments();
    return Math.min(window + acknowledgedBehindGap(), config.sendWindow());
  }

  /** A flush begins. Without a control, the send window may grow. */
  public void updateSendWindow(long nowUs) {
    if (!isWindowTuned(sender.config)) {
      return;
    }
    if (sendWindow != null) {
      sendWindow.update(sender, nowUs);
    } else if (sender.buffer.next() - sender.firstSn >= KcpConfig.INITIAL_WINDOW) {
      sendWindow = new SendWindow(sender, nowUs);
    }
  }

  /** The window of the control, in segments. */
  public int controlWindow() {
    DeliveryRate rate = sender.losses.rate;
    return rate == null ? control.window() : rate.window(control.windowBytes());
  }

  /** How far beyond {@code una} segments may be in flight. */
  int window() {
    DeliveryRate rate = sender.losses.rate;
    if (rate == null) {
      return control.window();
    }
    long window = (long) rate.window(control.windowBytes()) + acknowledgedBehindGap();
    return (int) Math.min(window, Integer.MAX_VALUE);
  }

  private int acknowledgedBehindGap() {
    return sender.inFlight() - sender.losses.unacknowledged();
  }

  /** Whether an acknowledgement opens the window though {@code una} has not advanced. */
  public boolean isWindowSelective() {
    return sender.losses.rate != null || sendWindow != null;
  }

  // Events

  /** The segment in flight at {@code index} counts as lost, and has been sent again. */
  public void retransmitted(int index, LossCause cause, long nowUs) {
    if (cause == LossCause.TIMEOUT) {
      samples.lostByTimeout++;
    } else {
      samples.lostByAcks++;
    }
    LossDetector losses = sender.losses;
    if (losses.rate != null) {
      losses.rate.retransmitted(losses.ring, index, nowUs);
    }
    if (sender.tracing != null) {
      int sn = sender.buffer.sn(index);
      sender.tracing.lost(sn, cause);
      sender.tracing.sent(sn, sender.buffer.bytes(index), losses.transmissions(index));
    }
  }

  /**
   * A datagram has been taken in, which has acknowledged {@code segments}.
   *
   * @param rttUs its shortest round-trip time, or {@link AckSample#NO_RTT}
   */
  public void acknowledged(int segments, boolean unaAdvanced, int rttUs, long nowUs) {
    if (segments == 0 && !unaAdvanced) {
      return;
    }
    samples.deliveredSegments += segments;
    samples.rttUs = rttUs;
    samples.unaAdvanced = unaAdvanced;
    samples.remoteWindow = sender.remote.segments();
    samples.nowUs = nowUs;
    if (samples.rate != null) {
      samples.rate.endDatagram(sender.pacer.chargedBytes());
    }
    control.onAck(samples);
    if (sender.tracing != null) {
      sender.tracing.acknowledged(segments, rttUs);
      traceState();
    }
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
    sender.tracing.state(controlWindow());
    if (!control.state().isEmpty()) {
      sender.tracing.congestion(control, samples.isApplicationLimited());
    }
  }

  /** The peer has said that it takes more, and has not been asked, or it ends an outage. */
  public void windowUpdated() {
    control.onWindowUpdate();
    if (sender.losses.rate != null) {
      // The peer was the limit, which is no measure of the path, too.
      sender.losses.rate.applicationLimited();
    }
    sender.pacer.controlRate(control.pacingBytesPerSecond());
  }

  /** The application has nothing more to send while {@code unacknowledged} are in flight. */
  void applicationLimited(int unacknowledged) {
    samples.limitedUntil = samples.deliveredSegments + unacknowledged;
    if (samples.rate != null) {
      samples.rate.applicationLimited();
    }
  }

  /**
   * The send window of a session without congestion control, if its limit is larger than {@link
   * KcpConfig#MAX_FIXED_WINDOW} segments: protocol.md 4.1. Only the windows bound what such a
   * session has in flight, and a large one would fill every queue of the path. So it begins with
   * {@link KcpConfig#INITIAL_WINDOW} segments and grows to twice the bandwidth-delay product: the
   * segments delivered in a period, for a shortest round trip. It does not shrink. As that of BBR,
   * it does not count what is acknowledged behind a gap: otherwise a window that waits for a lost
   * segment would deliver half of what the path carries, and not grow.
   */
  private static final class SendWindow {

    /** Acknowledgements come in lumps, every 10 to 40 ms. */
    private static final int MIN_PERIOD_US = 100_000;

    private static final int BANDWIDTH_DELAY_PRODUCTS = 2;

    private int segments = KcpConfig.INITIAL_WINDOW;

    /** Later ones may contain the queue that this window keeps. */
    private int leastRttUs = Integer.MAX_VALUE;

    private int deliveredBefore;
    private long startedAtUs;

    SendWindow(Sender sender, long nowUs) {
      deliveredBefore = delivered(sender);
      startedAtUs = nowUs;
    }

    int segments() {
      return segments;
    }

    /** The segments that have been acknowledged, also behind a gap, modulo 2<sup>32</sup>. */
    private static int delivered(Sender sender) {
      return sender.buffer.next() - sender.losses.unacknowledged();
    }

    /** A flush begins. The window may grow before. */
    void update(Sender sender, long nowUs) {
      if (!sender.rtt.hasSample()) {
        return;
      }
      int rttUs = sender.rtt.minRttUs() == 0 ? sender.rtt.srttUs() : sender.rtt.minRttUs();
      leastRttUs = Math.min(leastRttUs, rttUs);
      long periodUs = nowUs - startedAtUs;
      if (periodUs < Math.max(leastRttUs, MIN_PERIOD_US)) {
        return;
      }
      int delivered = delivered(sender);
      if (sender.limit == null) {
        long perRoundTrip = (long) (delivered - deliveredBefore) * leastRttUs / periodUs;
        long most = Math.min(BANDWIDTH_DELAY_PRODUCTS * perRoundTrip, sender.config.sendWindow());
        segments = (int) Math.max(segments, most);
      }
      deliveredBefore = delivered;
      startedAtUs = nowUs;
    }
  }

  /** Both samples of a session. */
  private static final class Samples implements AckSample, LossSample {

    private final DeliveryRate rate;

    private long nowUs;
    private int rttUs;
    private int inFlightSegments;
    private int remoteWindow;
    private boolean unaAdvanced;
    private int lostByAcks;
    private int lostByTimeout;
    private int window;
    private int fastRetransmit;

    private long deliveredSegments;

    /** The last segment that was sent while the application was the limit, counted as delivered. */
    private long limitedUntil;

    Samples(DeliveryRate rate) {
      this.rate = rate;
    }

    boolean isApplicationLimited() {
      return deliveredSegments <= limitedUntil;
    }

    @Override
    public long nowUs() {
      return nowUs;
    }

    @Override
    public int rttUs() {
      return rttUs;
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
    public Rate rate() {
      return rate;
    }

    @Override
    public int inFlightSegments() {
      return inFlightSegments;
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

  /** Whether nothing but the send window bounds what is in flight, and its limit is large. */
  private static boolean isWindowTuned(KcpConfig config) {
    return config.congestionControl() == CongestionControl.NONE
        && config.sendWindow() > KcpConfig.MAX_FIXED_WINDOW;
  }
}
