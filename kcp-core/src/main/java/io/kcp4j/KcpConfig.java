package io.kcp4j;

import java.util.Objects;

/**
 * The settings of a session. Immutable, so that many sessions share one.
 *
 * <p>The defaults are kcptun's "fast2" in stream mode with BBR, windows that follow the path up to
 * 8192 segments and an MTU of 1200 bytes.
 */
public final class KcpConfig {

  /** The size of a segment's header, in bytes. */
  @Unstable public static final int HEADER_BYTES = 24;

  /** The smallest MTU, in bytes, as in C KCP: a header and a little payload. */
  public static final int MIN_MTU_BYTES = 50;

  /** The largest MTU, in bytes: kcp-go's receivers take no larger UDP payload. */
  public static final int MAX_MTU_BYTES = 1500;

  /** The default MTU, in bytes: every path that QUIC works on takes it (RFC 9000 §14). */
  public static final int DEFAULT_MTU_BYTES = 1200;

  /** The largest window, in segments: the header has 16 bits for it. */
  public static final int MAX_WINDOW = 65535;

  /**
   * The default limit of windows, in segments: twice what BBR has in flight on a path of 100 Mbit/s
   * and 200 ms, since as much may wait behind a loss.
   */
  public static final int DEFAULT_WINDOW = 8192;

  /**
   * The largest limit that is the window from the start, in segments: that of kcptun's server.
   * Below a larger limit, windows follow the path.
   */
  @Unstable public static final int MAX_FIXED_WINDOW = 1024;

  /** The size with which such a window begins, in segments: it takes the largest message. */
  @Unstable public static final int INITIAL_WINDOW = 256;

  /** So many segments may wait to be sent by default, however few may be in flight: 75 KB. */
  private static final int LEAST_SEND_QUEUE = 64;

  /** Linux's default socket buffer takes 92 full datagrams; the rest is room for parity. */
  private static final int DEFAULT_MAX_BURST = 64;

  /** The most fragments of a message that C peers take: their receive window's default less one. */
  public static final int DEFAULT_MAX_FRAGMENTS = 127;

  /** The hard limit on fragments, kcp-go's: the header counts them down from 254 in its 8 bits. */
  public static final int MAX_FRAGMENTS = 255;

  /**
   * At a loss of 10 % each way a probe stays unanswered with a probability of 0.19. All of these do
   * so once in 110,000 intervals; of three probes it would be once in 150.
   */
  private static final int DEFAULT_KEEP_ALIVE_PROBES = 7;

  /** The default configuration. */
  public static final KcpConfig DEFAULT = new Builder().build();

  private final Delivery delivery;
  private final int sendWindow;
  private final int receiveWindow;
  private final int mtuBytes;
  private final boolean noDelay;
  private final int intervalMs;
  private final LossDetection lossDetection;
  private final int fastRetransmit;
  private final CongestionControl.Factory congestionControl;
  private final boolean ackNoDelay;
  private final int userTimeoutMs;
  private final int zeroWindowTimeoutMs;
  private final int sendQueue;
  private final int maxFragments;
  private final int rateLimit;
  private final int maxBurst;
  private final int idleTimeoutMs;
  private final int keepAliveIntervalMs;
  private final int keepAliveProbeIntervalMs;
  private final int keepAliveProbes;
  private final int lingerMs;
  private final int lingerMaxMs;
  private final int datagramQueue;
  private final boolean extension;

  private KcpConfig(Builder builder) {
    delivery = builder.delivery;
    sendWindow = builder.sendWindow;
    receiveWindow = builder.receiveWindow;
    mtuBytes = builder.mtuBytes;
    noDelay = builder.noDelay;
    intervalMs = builder.intervalMs;
    lossDetection = builder.lossDetection;
    fastRetransmit = builder.fastRetransmit;
    congestionControl = builder.congestionControl;
    ackNoDelay = builder.ackNoDelay;
    userTimeoutMs = builder.userTimeoutMs;
    zeroWindowTimeoutMs = builder.zeroWindowTimeoutMs;
    sendQueue = builder.sendQueue;
    maxFragments = builder.maxFragments;
    rateLimit = builder.rateLimit;
    maxBurst = builder.maxBurst;
    idleTimeoutMs = builder.idleTimeoutMs;
    keepAliveIntervalMs = builder.keepAliveIntervalMs;
    keepAliveProbeIntervalMs = builder.keepAliveProbeIntervalMs;
    keepAliveProbes = builder.keepAliveProbes;
    lingerMs = builder.lingerMs;
    lingerMaxMs = builder.lingerMaxMs;
    datagramQueue = builder.datagramQueue;
    extension = builder.extension;
  }

  /** A stream, messages or lanes. Both sides must agree. Default {@link Delivery#STREAM}. */
  public Delivery delivery() {
    return delivery;
  }

  /**
   * The most segments in flight: 1 to {@value #MAX_WINDOW}, default {@value #DEFAULT_WINDOW}. The
   * congestion control decides how many there are. With {@link CongestionControl#NONE} and a limit
   * above {@value #MAX_FIXED_WINDOW} it is twice the bandwidth-delay product, at least {@value
   * #INITIAL_WINDOW}.
   */
  public int sendWindow() {
    return sendWindow;
  }

  /**
   * The most segments received and not yet read: 1 to {@value #MAX_WINDOW}, default {@value
   * #DEFAULT_WINDOW}. With a limit above {@value #MAX_FIXED_WINDOW}, the window that the peer is
   * told begins with {@value #INITIAL_WINDOW}, and doubles when half of it is read within two round
   * trips.
   */
  public int receiveWindow() {
    return receiveWindow;
  }

  /**
   * The largest datagram, in bytes of UDP payload: {@value #MIN_MTU_BYTES} to {@value
   * #MAX_MTU_BYTES}, default {@value #DEFAULT_MTU_BYTES}. If the path drops larger ones than the
   * default, a session finds that out and sends no new ones: protocol.md 4.13.
   */
  public int mtuBytes() {
    return mtuBytes;
  }

  /**
   * Whether a timeout grows by half (true, the default) or doubles with each retransmission, and
   * with {@link LossDetection#FAST_RETRANSMIT} whether its lower limit is 30 or 100 ms.
   */
  public boolean noDelay() {
    return noDelay;
  }

  /**
   * The flush interval: how long acknowledgements may wait to share datagrams, in milliseconds: 1
   * to 5000, default 20. With {@link LossDetection#RACK}, those of thin traffic wait at most 2 ms.
   */
  public int intervalMs() {
    return intervalMs;
  }

  /**
   * How lost segments are detected, and when thin traffic is acknowledged. Default {@link
   * LossDetection#RACK}.
   */
  public LossDetection lossDetection() {
    return lossDetection;
  }

  /**
   * The fast retransmit threshold of {@link LossDetection#FAST_RETRANSMIT}: how many
   * acknowledgements of segments sent later make a segment count as lost. Default 2; 0 turns fast
   * and early retransmit off.
   */
  public int fastRetransmit() {
    return fastRetransmit;
  }

  /** What makes the congestion control. Default {@link CongestionControl#BBR}. */
  public CongestionControl.Factory congestionControl() {
    return congestionControl;
  }

  /** Whether acknowledgements leave after every batch of datagrams. Default false. */
  public boolean ackNoDelay() {
    return ackNoDelay;
  }

  /**
   * How long segments may be in flight without any acknowledgement before the link counts as dead,
   * in milliseconds, default 30000. It counts as dead, too, if one segment that was first sent so
   * long ago has been sent 20 times. 0 means never.
   */
  public int userTimeoutMs() {
    return userTimeoutMs;
  }

  /**
   * How long the window of the peer may stay closed while segments are queued, in milliseconds,
   * default 60000. A window that opens only for single segments counts as closed. 0 means without
   * limit.
   */
  public int zeroWindowTimeoutMs() {
    return zeroWindowTimeoutMs;
  }

  /**
   * The most segments that may wait to be sent, beside those in flight: at least 1. With the
   * setting 0, the default, the limit follows the number that may be in flight, and this returns
   * its upper bound: the send window, at most {@value #MAX_FIXED_WINDOW}.
   */
  public int sendQueue() {
    return sendQueue == 0 ? Math.min(sendWindow, MAX_FIXED_WINDOW) : sendQueue;
  }

  /** How many segments may wait to be sent, however few may be in flight. */
  @Unstable
  public int leastSendQueue() {
    return sendQueue == 0 ? Math.min(sendWindow, LEAST_SEND_QUEUE) : sendQueue;
  }

  /**
   * The most fragments of one message, sent or received: 1 to {@value #MAX_FRAGMENTS}, default
   * {@value #DEFAULT_MAX_FRAGMENTS}.
   */
  public int maxFragments() {
    return maxFragments;
  }

  /**
   * The rate limit, in bytes per second, averaged over some intervals, or 0 (the default) for none.
   * Headers, retransmissions and parity count. Acknowledgements and probes count, too, but do not
   * wait.
   */
  public int rateLimit() {
    return rateLimit;
  }

  /**
   * The most datagrams that leave in a millisecond, beyond one for each segment acknowledged
   * meanwhile: 0 to {@value #MAX_WINDOW}, where 0 means no limit. Parity does not count, and
   * acknowledgements do not wait. The default, {@value #DEFAULT_MAX_BURST}, fits a socket buffer of
   * 208 KiB, Linux's default.
   */
  public int maxBurst() {
    return maxBurst;
  }

  /**
   * The time without payload in either direction after which the session ends, in milliseconds.
   * Unreliable datagrams are payload. 0, the default, means never.
   */
  public int idleTimeoutMs() {
    return idleTimeoutMs;
  }

  /**
   * The time without any datagram from the peer after which a keep-alive probe is sent, in
   * milliseconds, default 60000. If {@link #keepAliveProbes()} in a row stay unanswered, the
   * session ends. If more than 30,000 sessions of one socket receive nothing, peers that have
   * answered a probe before may be probed after up to four times this interval. 0 means never.
   */
  public int keepAliveIntervalMs() {
    return keepAliveIntervalMs;
  }

  /**
   * The time for which the answer to the first keep-alive probe is awaited, in milliseconds, at
   * least 1, default 1000; to each further probe it is awaited half as long again, though never for
   * longer than {@link #keepAliveIntervalMs()}. A peer that answers neither a probe nor data for
   * this time is unresponsive. Probes have a resolution of a second.
   */
  public int keepAliveProbeIntervalMs() {
    return keepAliveProbeIntervalMs;
  }

  /**
   * How many keep-alive probes in a row have to stay unanswered for the session to end, at least 1,
   * default {@value #DEFAULT_KEEP_ALIVE_PROBES}: over about half a minute with the default of
   * {@link #keepAliveProbeIntervalMs()}.
   */
  public int keepAliveProbes() {
    return keepAliveProbes;
  }

  /**
   * How long a peer may be unresponsive while a session that closes waits until the peer has
   * acknowledged everything, in milliseconds, default 3000. 0 closes at once.
   */
  public int lingerMs() {
    return lingerMs;
  }

  /**
   * How long a session that closes waits at most for a peer that answers, in milliseconds, at least
   * 1, default 300000. {@link #zeroWindowTimeoutMs()} ends the wait for a peer that reads nothing.
   */
  public int lingerMaxMs() {
    return lingerMaxMs;
  }

  /**
   * The most unreliable datagrams that may wait to be read, and the most that may wait to be sent;
   * beyond that the oldest is dropped. With 0, the default, none can be sent, and those that arrive
   * are dropped.
   */
  public int datagramQueue() {
    return datagramQueue;
  }

  /**
   * Whether the session uses kcp4j's extension of KCP with a peer that has it: protocol.md 13.
   * Default true. A client offers it, which kcp-go and C KCP skip; set it to false where the peer
   * is an implementation that refuses payload in a WINS segment.
   */
  public boolean extension() {
    return extension;
  }

  /** The most fragments of a message that can be received: all of them must fit the window. */
  @Unstable
  public int receivedFragments() {
    return Math.min(maxFragments, receiveWindow);
  }

  /**
   * Checks whether a session with these settings may change to others.
   *
   * @throws IllegalArgumentException if the delivery, the loss detection or the use of the
   *     extension would change, or in message mode the receive window or the limit on fragments
   *     would shrink: an incomplete message could never end
   */
  @Unstable
  public void checkSuccessor(KcpConfig next) {
    if (next.delivery != delivery) {
      throw new IllegalArgumentException(
          "delivery: " + next.delivery + " (expected: " + delivery + " as before)");
    }
    if (next.lossDetection != lossDetection) {
      throw new IllegalArgumentException(
          "lossDetection: " + next.lossDetection + " (expected: " + lossDetection + " as before)");
    }
    if (next.extension != extension) {
      throw new IllegalArgumentException(
          "extension: " + next.extension + " (expected: " + extension + " as before)");
    }
    if (delivery == Delivery.MESSAGE && next.receivedFragments() < receivedFragments()) {
      throw new IllegalArgumentException(
          "receiveWindow, maxFragments: "
              + next.receivedFragments()
              + " (expected: >= "
              + receivedFragments()
              + " as before)");
    }
  }

  /** The largest payload of a segment, in bytes: the MTU less the header. */
  @Unstable
  public int mssBytes() {
    return mtuBytes - HEADER_BYTES;
  }

  /** A builder that starts from the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** A builder that starts from these settings. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.delivery = delivery;
    builder.sendWindow = sendWindow;
    builder.receiveWindow = receiveWindow;
    builder.mtuBytes = mtuBytes;
    builder.noDelay = noDelay;
    builder.intervalMs = intervalMs;
    builder.lossDetection = lossDetection;
    builder.fastRetransmit = fastRetransmit;
    builder.congestionControl = congestionControl;
    builder.ackNoDelay = ackNoDelay;
    builder.userTimeoutMs = userTimeoutMs;
    builder.zeroWindowTimeoutMs = zeroWindowTimeoutMs;
    builder.sendQueue = sendQueue;
    builder.maxFragments = maxFragments;
    builder.rateLimit = rateLimit;
    builder.maxBurst = maxBurst;
    builder.idleTimeoutMs = idleTimeoutMs;
    builder.keepAliveIntervalMs = keepAliveIntervalMs;
    builder.keepAliveProbeIntervalMs = keepAliveProbeIntervalMs;
    builder.keepAliveProbes = keepAliveProbes;
    builder.lingerMs = lingerMs;
    builder.lingerMaxMs = lingerMaxMs;
    builder.datagramQueue = datagramQueue;
    builder.extension = extension;
    return builder;
  }

  /**
   * Collects settings. Every setter checks its range and throws {@link IllegalArgumentException}
   * with the value and the limits.
   */
  public static final class Builder {

    private Delivery delivery = Delivery.STREAM;
    private int sendWindow = DEFAULT_WINDOW;
    private int receiveWindow = DEFAULT_WINDOW;
    private int mtuBytes = DEFAULT_MTU_BYTES;
    private boolean noDelay = KcpMode.FAST2.noDelay();
    private int intervalMs = KcpMode.FAST2.intervalMs();
    private LossDetection lossDetection = LossDetection.RACK;
    private int fastRetransmit = KcpMode.FAST2.fastRetransmit();
    private CongestionControl.Factory congestionControl = CongestionControl.BBR;
    private boolean ackNoDelay;
    private int userTimeoutMs = 30_000;
    private int zeroWindowTimeoutMs = 60_000;
    private int sendQueue;
    private int maxFragments = DEFAULT_MAX_FRAGMENTS;
    private int rateLimit;
    private int maxBurst = DEFAULT_MAX_BURST;
    private int idleTimeoutMs;
    private int keepAliveIntervalMs = 60_000;
    private int keepAliveProbeIntervalMs = 1_000;
    private int keepAliveProbes = DEFAULT_KEEP_ALIVE_PROBES;
    private int lingerMs = 3_000;
    private int lingerMaxMs = 300_000;
    private int datagramQueue;
    private boolean extension = true;

    private Builder() {}

    /** Applies the three settings of a preset; settings made later override them. */
    public Builder mode(KcpMode mode) {
      noDelay = mode.noDelay();
      intervalMs = mode.intervalMs();
      fastRetransmit = mode.fastRetransmit();
      return this;
    }

    /** See {@link KcpConfig#delivery()}. */
    public Builder delivery(Delivery delivery) {
      this.delivery = Objects.requireNonNull(delivery, "delivery");
      return this;
    }

    /** See {@link KcpConfig#sendWindow()}. */
    public Builder sendWindow(int segments) {
      sendWindow = checkRange("sendWindow", segments, 1, MAX_WINDOW);
      return this;
    }

    /** See {@link KcpConfig#receiveWindow()}. */
    public Builder receiveWindow(int segments) {
      receiveWindow = checkRange("receiveWindow", segments, 1, MAX_WINDOW);
      return this;
    }

    /** See {@link KcpConfig#mtuBytes()}. */
    public Builder mtuBytes(int bytes) {
      mtuBytes = checkRange("mtuBytes", bytes, MIN_MTU_BYTES, MAX_MTU_BYTES);
      return this;
    }

    /** See {@link KcpConfig#noDelay()}. */
    public Builder noDelay(boolean noDelay) {
      this.noDelay = noDelay;
      return this;
    }

    /** See {@link KcpConfig#intervalMs()}. */
    public Builder intervalMs(int ms) {
      intervalMs = checkRange("intervalMs", ms, 1, 5000);
      return this;
    }

    /** See {@link KcpConfig#lossDetection()}. */
    public Builder lossDetection(LossDetection lossDetection) {
      this.lossDetection = Objects.requireNonNull(lossDetection, "lossDetection");
      return this;
    }

    /** See {@link KcpConfig#fastRetransmit()}. */
    public Builder fastRetransmit(int acknowledgements) {
      fastRetransmit = checkRange("fastRetransmit", acknowledgements, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#congestionControl()}. */
    public Builder congestionControl(CongestionControl.Factory factory) {
      congestionControl = Objects.requireNonNull(factory, "congestionControl");
      return this;
    }

    /** See {@link KcpConfig#ackNoDelay()}. */
    public Builder ackNoDelay(boolean ackNoDelay) {
      this.ackNoDelay = ackNoDelay;
      return this;
    }

    /** See {@link KcpConfig#userTimeoutMs()}. */
    public Builder userTimeoutMs(int ms) {
      userTimeoutMs = checkRange("userTimeoutMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#zeroWindowTimeoutMs()}. */
    public Builder zeroWindowTimeoutMs(int ms) {
      zeroWindowTimeoutMs = checkRange("zeroWindowTimeoutMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#sendQueue()}. */
    public Builder sendQueue(int segments) {
      sendQueue = checkRange("sendQueue", segments, 0, MAX_WINDOW);
      return this;
    }

    /** See {@link KcpConfig#maxFragments()}. */
    public Builder maxFragments(int fragments) {
      maxFragments = checkRange("maxFragments", fragments, 1, MAX_FRAGMENTS);
      return this;
    }

    /** See {@link KcpConfig#rateLimit()}. */
    public Builder rateLimit(int bytesPerSecond) {
      rateLimit = checkRange("rateLimit", bytesPerSecond, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#maxBurst()}. */
    public Builder maxBurst(int datagrams) {
      maxBurst = checkRange("maxBurst", datagrams, 0, MAX_WINDOW);
      return this;
    }

    /** See {@link KcpConfig#idleTimeoutMs()}. */
    public Builder idleTimeoutMs(int ms) {
      idleTimeoutMs = checkRange("idleTimeoutMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#keepAliveIntervalMs()}. */
    public Builder keepAliveIntervalMs(int ms) {
      keepAliveIntervalMs = checkRange("keepAliveIntervalMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#keepAliveProbeIntervalMs()}. */
    public Builder keepAliveProbeIntervalMs(int ms) {
      keepAliveProbeIntervalMs = checkRange("keepAliveProbeIntervalMs", ms, 1, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#keepAliveProbes()}. */
    public Builder keepAliveProbes(int probes) {
      keepAliveProbes = checkRange("keepAliveProbes", probes, 1, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#lingerMs()}. */
    public Builder lingerMs(int ms) {
      lingerMs = checkRange("lingerMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#lingerMaxMs()}. */
    public Builder lingerMaxMs(int ms) {
      lingerMaxMs = checkRange("lingerMaxMs", ms, 1, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#datagramQueue()}. */
    public Builder datagramQueue(int datagrams) {
      datagramQueue = checkRange("datagramQueue", datagrams, 0, Integer.MAX_VALUE);
      return this;
    }

    /** See {@link KcpConfig#extension()}. */
    public Builder extension(boolean extension) {
      this.extension = extension;
      return this;
    }

    /** Makes the configuration. */
    public KcpConfig build() {
      return new KcpConfig(this);
    }

    private static int checkRange(String name, int value, int min, int max) {
      if (value < min || value > max) {
        throw new IllegalArgumentException(
            name + ": " + value + " (expected: " + min + " to " + max + ")");
      }
      return value;
    }
  }
}
