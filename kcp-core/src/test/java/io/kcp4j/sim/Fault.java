package io.kcp4j.sim;

/** What a simulated network, machine or attacker does to a session. */
public enum Fault {
  /** A datagram was lost at random. */
  LOST,
  /** A datagram was lost in a burst. */
  LOST_IN_BURST,
  /** A datagram was duplicated, once or more often. */
  DUPLICATED,
  /** A datagram was delayed so that later ones arrived first. */
  REORDERED,
  /** Bits of a datagram were flipped; a checksum below KCP, or the cipher, detected it. */
  CORRUPTED,
  /** A datagram was truncated. */
  TRUNCATED,
  /** Bytes were appended to a datagram, fewer than a header has. */
  PADDED,
  /** The link was down for a while. */
  PARTITION,
  /** A datagram was lost because the link was down. */
  LOST_IN_PARTITION,
  /** A datagram was delayed because the link's rate is limited. */
  QUEUED,
  /** A datagram was lost because the link's queue was full. */
  QUEUE_FULL,
  /** A machine did nothing for a while; its input waited. */
  MACHINE_PAUSED,
  /** A machine's clock jumped forward. */
  CLOCK_JUMPED,
  /** A reader took nothing for a while. */
  READING_PAUSED,
  /** A segment with a closed window was sent. */
  WINDOW_CLOSED,
  /** The MTU changed while data was under way. */
  MTU_CHANGED,
  /** There was no memory for a buffer. */
  ALLOCATION_FAILED,
  /** A message larger than allowed was offered. */
  MESSAGE_TOO_LARGE,

  /** Forged: random bytes. */
  GARBAGE(Origin.ATTACKER),
  /** Forged: no bytes at all. */
  EMPTY(Origin.ATTACKER),
  /** Forged: less than a header. */
  SHORT_HEADER(Origin.ATTACKER),
  /** Forged: another conversation. */
  WRONG_CONV(Origin.ATTACKER),
  /** Forged: a command that is none of the four. */
  UNKNOWN_COMMAND(Origin.ATTACKER),
  /** Forged: a length beyond the end of the datagram. */
  LENGTH_BEYOND_END(Origin.ATTACKER),
  /** Forged: a length of 2^31 or more. */
  LENGTH_NEGATIVE(Origin.ATTACKER),
  /** Forged: a valid segment with a false payload before an invalid one. */
  BAD_TAIL(Origin.ATTACKER),
  /** Forged: una beyond all that was sent. */
  UNA_OF_UNSENT(Origin.ATTACKER),
  /** Forged: the ACK of a segment that was not sent. */
  ACK_OF_UNSENT(Origin.ATTACKER),
  /** Forged: the ACK of a segment that did arrive, with a timestamp that was never sent. */
  INVALID_TIMESTAMP(Origin.ATTACKER),
  /** Forged: a segment beyond the receive window. */
  BEYOND_WINDOW(Origin.ATTACKER),
  /** Forged: a fragment of a message larger than the receiver takes. */
  TOO_MANY_FRAGMENTS(Origin.ATTACKER);

  private enum Origin {
    NATURE,
    ATTACKER
  }

  private final Origin origin;

  Fault() {
    this(Origin.NATURE);
  }

  Fault(Origin origin) {
    this.origin = origin;
  }

  /** Whether it is a forged datagram. */
  public boolean isForged() {
    return origin == Origin.ATTACKER;
  }
}
