package io.kcp4j.internal.path;

import io.kcp4j.internal.path.AddressRateLimiter.Scope;
import java.net.InetSocketAddress;

/**
 * A remote address that packets are exchanged with, and what is known of it.
 *
 * <p>A path is validated when it is known that its peer receives at that address, so that it is not
 * the forged source of somebody else's packets (RFC 9000 §8). The path of a session that this side
 * has begun is validated from the beginning, since this side chose the address. The path of an
 * accepted session is validated by an ACK with the sequence number and the timestamp of a segment
 * in flight: timestamps begin at a random origin. So does a token of the extension. Cumulative
 * acknowledgements validate nothing, since sequence numbers can be guessed.
 *
 * <p>Used by the thread of its session.
 */
public final class Path {

  /** How many bytes may be sent for each one that was received: RFC 9000 §8.1. */
  private static final int AMPLIFICATION_LIMIT = 3;

  /** A peer may have sent much before its path is validated. */
  private static final int MIN_BYTES_TO_HOLD_PACKETS = 64 * 1024;

  private final InetSocketAddress remote;
  private boolean isValidated;
  private long bytesReceived;
  private long bytesSent;

  /** Null unless the ARQ is limited. */
  private Allowance allowance;

  public Path(InetSocketAddress remote) {
    this.remote = remote;
  }

  /** The remote address. */
  public InetSocketAddress remote() {
    return remote;
  }

  /** Whether it is known that the peer receives at this address. */
  public boolean isValidated() {
    return isValidated;
  }

  /** The bytes of all packets of the session that were received, refused ones included. */
  public long bytesReceived() {
    return bytesReceived;
  }

  /** The bytes of all packets that were sent. */
  public long bytesSent() {
    return bytesSent;
  }

  /**
   * Whether packets may be kept for FEC: the path is validated, or so much was received that a
   * forger would gain little.
   */
  public boolean mayHoldPackets() {
    return isValidated || bytesReceived >= MIN_BYTES_TO_HOLD_PACKETS;
  }

  /** How many bytes may be sent now while the path is not validated; below 0 for none. */
  public long allowanceBytes() {
    return AMPLIFICATION_LIMIT * bytesReceived - bytesSent;
  }

  /**
   * The same for the ARQ, which may exceed it by small segments.
   *
   * @param excess what all sessions of the address may exceed
   */
  public AmplificationLimit.Allowance allowance(AddressExcess excess) {
    allowance = new Allowance(excess);
    return allowance;
  }

  private final class Allowance implements AmplificationLimit.Allowance {

    private final AddressExcess excess;

    /** When packets are written next, in microseconds. */
    private long nowUs;

    Allowance(AddressExcess excess) {
      this.excess = excess;
    }

    @Override
    public long bytes() {
      return allowanceBytes();
    }

    @Override
    public boolean mayFirstExceed() {
      return excess.hasFirst(remote, nowUs);
    }

    @Override
    public boolean takeFirstExcess() {
      return excess.takeFirst(remote, nowUs);
    }

    @Override
    public boolean takeFurtherExcess() {
      return excess.takeFurther(remote, nowUs);
    }
  }

  /** Packets are written from now on. */
  public void beginOutput(long nowUs) {
    if (allowance != null) {
      allowance.nowUs = nowUs;
    }
  }

  public void validate() {
    isValidated = true;
    allowance = null;
  }

  public void onReceived(int bytes) {
    bytesReceived += bytes;
  }

  public void onSent(int bytes) {
    bytesSent += bytes;
  }

  /**
   * How often the sessions of one address together may exceed what their paths allow, before these
   * are validated: protocol.md 8.7. Each conversation is sent three bytes for each one received, so
   * that the excess alone has to be counted for an address. An address is one of IPv4, or 56 bits
   * of one of IPv6, whatever the port.
   *
   * <p>Thread-safe: the tables of a server share it. Only sessions whose paths are not validated
   * use it, and only beyond their limit.
   */
  public static final class AddressExcess {

    /** Players behind one address begin sessions at this rate at least. */
    private static final int FIRST_PER_SECOND = 64;

    private static final int MAX_FIRST_BURST = 64;

    /** Few answers are lost and have to be repeated. */
    private static final int FURTHER_PER_SECOND = 8;

    private static final int MAX_FURTHER_BURST = 64;

    private static final int BUCKETS = 4096;

    private final AddressRateLimiter first =
        new AddressRateLimiter(Scope.HOST, BUCKETS, FIRST_PER_SECOND, MAX_FIRST_BURST);
    private final AddressRateLimiter further =
        new AddressRateLimiter(Scope.HOST, BUCKETS, FURTHER_PER_SECOND, MAX_FURTHER_BURST);

    /** Whether the first small segment of a session may exceed the limit. */
    public boolean hasFirst(InetSocketAddress remote, long nowUs) {
      return first.hasToken(remote, nowUs);
    }

    /** Takes it from the address, if that may exceed the limit. */
    public boolean takeFirst(InetSocketAddress remote, long nowUs) {
      return first.tryTake(remote, nowUs);
    }

    /** Takes another small segment, or a probe, from the address, if that may exceed the limit. */
    public boolean takeFurther(InetSocketAddress remote, long nowUs) {
      return further.tryTake(remote, nowUs);
    }
  }
}
