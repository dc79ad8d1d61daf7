package io.kcp4j.internal.session;

import io.kcp4j.EndReason;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * A row of {@link EndingTest}: which side ends the session, the end reason that the application of
 * the other side is told (null for a close without error), how long that may take, and the carriers
 * and links of the row.
 *
 * <p>{@link #tcp} has the time that TCP takes, in milliseconds, on a clean and on a lossy link. It
 * counts from the end, or from the last byte that the application reads if that is later. A FIN
 * takes half a round trip. If it is lost, an RTO precedes that, of 240 ms: the round trip, and the
 * least that Linux adds. A reset takes a round trip; a lost SYN is sent again after a second. The
 * limit is TCP's time, two round trips and a probe timeout. {@link #within} has the limit itself,
 * from the end on.
 */
@SuppressWarnings("ImmutableEnumChecker") // Nobody changes the sets.
enum Ending {
  CLOSE(Side.EITHER, null, tcp(20, 260), Carrier.ALL, Link.ALL),
  /** More is pending than the peer has room for. */
  CLOSE_WITH_OUTPUT_PENDING(Side.EITHER, null, tcp(20, 260), Carrier.ALL, Link.ALL),
  /** The other side writes on, and closes then. */
  HALF_CLOSE(Side.EITHER, null, tcp(20, 260), Carrier.ALL, Link.ALL),
  /** {@code shutdownGracefully()}, also when a shutdown hook of the JVM calls it: the same code. */
  GROUP_SHUTDOWN(Side.EITHER, null, tcp(20, 260), Carrier.ALL, Link.ALL),
  GROUP_SHUTDOWN_WITH_OUTPUT_PENDING(
      Side.EITHER, EndReason.INPUT_INCOMPLETE, tcp(20, 260), Carrier.ALL, Link.ALL),

  /** A close that fails. The reason and the limit are those of the side that closes: 7.2. */
  CLOSE_TO_A_PEER_THAT_NEVER_READS(
      Side.EITHER,
      EndReason.ZERO_WINDOW_TIMEOUT,
      within(62_000),
      EnumSet.of(Carrier.STREAM, Carrier.MESSAGE),
      EnumSet.of(Link.CLEAN)),
  /** The same with lanes, of which only LINGER_MAX is the limit. */
  CLOSE_TO_LANES_THAT_ARE_NEVER_READ(
      Side.EITHER,
      EndReason.CLOSE_TIMEOUT,
      within(EndingHost.LINGER_MAX_MS + 100),
      EnumSet.of(Carrier.LANES),
      EnumSet.of(Link.CLEAN)),

  /** Nobody answers: 7.1. */
  KILLED_WITH_DATA_IN_FLIGHT(
      Side.EITHER, EndReason.USER_TIMEOUT, within(31_000), Carrier.ALL, Link.ALL),
  /** Nobody answers: 7.3. */
  KILLED_IDLE(
      Side.EITHER, EndReason.KEEP_ALIVE_TIMEOUT, within(60_000 + 40_000), Carrier.ALL, Link.ALL),
  KILLED_WITH_DATA_IN_FLIGHT_PORT_UNREACHABLE(
      Side.SERVER, EndReason.PORT_UNREACHABLE, within(5_000), Carrier.ALL, Link.ALL),
  /** The first probe of the keep-alive draws the message, or one 1 s, 1.5 s or 2.25 s later. */
  KILLED_IDLE_PORT_UNREACHABLE(
      Side.SERVER, EndReason.PORT_UNREACHABLE, within(66_000, 72_000), Carrier.ALL, Link.ALL),

  /** The server that begins again has the same RESET_SECRET. */
  RESTARTED_WITH_THE_SECRET(
      Side.SERVER, EndReason.SESSION_UNKNOWN, within(5_000), Carrier.ALL, Link.ALL),
  /** It has another one, and can prove nothing: 7.1. */
  RESTARTED_WITHOUT_THE_SECRET(
      Side.SERVER, EndReason.USER_TIMEOUT, within(31_000), Carrier.ALL, Link.ALL),

  /** The session goes on. The limit is the time until both sides have read everything. */
  STOPPED_FOR_5_SECONDS(Side.EITHER, null, within(1_000), Carrier.ALL, Link.ALL),
  /**
   * The other side has ended the session. The reason and the limit are those of the side that was
   * stopped; if an answer is lost, the next one comes a second later: 13.11.
   */
  STOPPED_FOR_36_SECONDS(
      Side.EITHER, EndReason.SESSION_UNKNOWN, tcp(40, 2_040), Carrier.ALL, Link.ALL),

  /** ACCEPT_FILTER refuses a client with a reason. */
  BANNED(
      Side.SERVER,
      EndReason.REFUSED,
      tcp(40, 1_040),
      Carrier.ALL,
      EnumSet.of(Link.CLEAN, Link.LOSSY)),
  /** The server has MAX_SESSIONS. */
  FULL(
      Side.SERVER,
      EndReason.REFUSED,
      tcp(40, 1_040),
      Carrier.ALL,
      EnumSet.of(Link.CLEAN, Link.LOSSY));

  /** Which side ends the session. */
  enum Side {
    CLIENT,
    SERVER,
    /** Each, in cells of their own. */
    EITHER;

    List<Side> each() {
      return this == EITHER ? List.of(CLIENT, SERVER) : List.of(this);
    }
  }

  /** A time in milliseconds. */
  record Limit(boolean isTcp, int cleanMs, int lossyMs) {

    int ms(Link link) {
      return link == Link.LOSSY ? lossyMs : cleanMs;
    }
  }

  final Side side;
  final Limit limit;
  final Set<Carrier> carriers;
  final Set<Link> links;
  private final EndReason reason;

  Ending(Side side, EndReason reason, Limit limit, Set<Carrier> carriers, Set<Link> links) {
    this.side = side;
    this.reason = reason;
    this.limit = limit;
    this.carriers = carriers;
    this.links = links;
  }

  private static Limit tcp(int cleanMs, int lossyMs) {
    return new Limit(true, cleanMs, lossyMs);
  }

  private static Limit within(int ms) {
    return within(ms, ms);
  }

  private static Limit within(int cleanMs, int lossyMs) {
    return new Limit(false, cleanMs, lossyMs);
  }

  EndReason reason(Carrier carrier, Link link) {
    boolean isReporting = carrier == Carrier.LANES && link == Link.PAUSED_READER;
    if (this == KILLED_IDLE && isReporting) {
      return EndReason.USER_TIMEOUT; // What is read from lanes is reported, by a segment.
    }
    return reason;
  }
}
