package io.kcp4j.session;

import io.kcp4j.Kcp;
import io.kcp4j.KcpCounter;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * One conversation with one remote address: a {@link Kcp}, its place in the {@link SessionTable},
 * and the watch over its peer's silence.
 */
public final class Session extends DeadlineWheel.Entry {

  /** The default of {@link #silenceTimeoutMs}. */
  public static final int DEFAULT_SILENCE_TIMEOUT_MS = 60_000;

  private static final int MAX_UNANSWERED_PROBES = 3;

  /** How long a silent peer has to answer a probe, unless the silence timeout is shorter. */
  private static final int PROBE_WAIT_MS = 5_000;

  private final SessionKey key;
  private final Kcp kcp;
  private final Object owner;
  private final Watch watch = new Watch();

  private SessionTable table;

  /** Whether the table has listed this session for the end of the batch. */
  boolean hasArrived;

  /** Whether the table has listed this session for the next flush, and what for. */
  boolean isTouched;

  boolean hasInput;
  boolean hasWritten;
  boolean isDue;

  private int silenceTimeoutMs = DEFAULT_SILENCE_TIMEOUT_MS;
  private int idleTimeoutMs;
  private long heardAtMs;
  private long payloadMovedAtMs;
  private long payloadBytes;
  private int unansweredProbes;

  /**
   * Makes a session.
   *
   * @param remote where its peer is
   * @param kcp its state machine; its owner closes it
   * @param owner whatever the driver wants to find again, such as a channel
   */
  public Session(InetSocketAddress remote, Kcp kcp, Object owner) {
    this.key = new SessionKey(Objects.requireNonNull(remote, "remote"), kcp.conv());
    this.kcp = kcp;
    this.owner = owner;
  }

  /** Where the peer is. */
  public InetSocketAddress remote() {
    return key.remote();
  }

  /** The conversation id. */
  public int conv() {
    return kcp.conv();
  }

  /** The state machine. */
  public Kcp kcp() {
    return kcp;
  }

  /** What was given as owner. */
  public Object owner() {
    return owner;
  }

  SessionKey key() {
    return key;
  }

  /** Whether the session is in a table. */
  boolean isIn(SessionTable other) {
    return table == other;
  }

  /**
   * Sets after how much silence the peer is probed. Three unanswered probes end the session.
   *
   * @param ms in milliseconds, default {@value #DEFAULT_SILENCE_TIMEOUT_MS}; 0 never
   */
  public void silenceTimeoutMs(int ms) {
    silenceTimeoutMs = ms;
    rearmWatch();
  }

  /**
   * Ends the session when no payload moves either way for that long.
   *
   * @param ms in milliseconds; 0, the default, never
   */
  public void idleTimeoutMs(int ms) {
    idleTimeoutMs = ms;
    rearmWatch();
  }

  void added(SessionTable table, long nowMs) {
    this.table = table;
    heardAtMs = nowMs;
    payloadMovedAtMs = nowMs;
    rearmWatch();
  }

  void removed() {
    table.watches().cancel(watch);
    table = null;
  }

  void heard(long nowMs) {
    heardAtMs = nowMs;
    unansweredProbes = 0;
  }

  /** Notes whether payload has moved since this was called last. */
  void watchPayload(long nowMs) {
    long moved =
        kcp.counters().get(KcpCounter.PAYLOAD_BYTES_IN)
            + kcp.counters().get(KcpCounter.PAYLOAD_BYTES_OUT);
    if (moved != payloadBytes) {
      payloadBytes = moved;
      payloadMovedAtMs = nowMs;
    }
  }

  @Override
  protected void expire(long nowMs) {
    table.due(this);
  }

  private void rearmWatch() {
    if (table == null) {
      return;
    }
    long probeAtMs = heardAtMs + silenceTimeoutMs;
    probeAtMs += (long) unansweredProbes * Math.min(silenceTimeoutMs, PROBE_WAIT_MS);
    long silence = silenceTimeoutMs == 0 ? Long.MAX_VALUE : probeAtMs;
    long idle = idleTimeoutMs == 0 ? Long.MAX_VALUE : payloadMovedAtMs + idleTimeoutMs;
    long next = Math.min(silence, idle);
    if (next == Long.MAX_VALUE) {
      table.watches().cancel(watch);
    } else {
      table.watches().arm(watch, next);
    }
  }

  /**
   * Looks at a session when it may have been silent or idle long enough. Nothing touches the watch
   * when a datagram arrives: it finds out when it expires, and waits for the rest of the time.
   */
  private final class Watch extends DeadlineWheel.Entry {

    @Override
    protected void expire(long nowMs) {
      if (isIdle(nowMs)) {
        table.end(Session.this, EndReason.IDLE, nowMs);
      } else if (isSilent(nowMs) && unansweredProbes == MAX_UNANSWERED_PROBES) {
        table.end(Session.this, EndReason.PEER_SILENT, nowMs);
      } else {
        if (isSilent(nowMs)) {
          unansweredProbes++;
          kcp.probe();
          table.touch(Session.this);
        }
        rearmWatch();
      }
    }

    private boolean isIdle(long nowMs) {
      return idleTimeoutMs > 0 && nowMs - payloadMovedAtMs >= idleTimeoutMs;
    }

    private boolean isSilent(long nowMs) {
      long waited = (long) unansweredProbes * Math.min(silenceTimeoutMs, PROBE_WAIT_MS);
      return silenceTimeoutMs > 0 && nowMs - heardAtMs >= silenceTimeoutMs + waited;
    }
  }
}
