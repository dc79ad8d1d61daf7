package io.kcp4j.sim;

/** What a simulated network, machine or stranger does to a session. */
public enum Fault {
  /** A datagram was lost at random. */
  LOST,
  /** A datagram was lost in a burst. */
  LOST_IN_BURST,
  /** A datagram came twice or more often. */
  DUPLICATED,
  /** A datagram was overtaken by a later one. */
  REORDERED,
  /** Bits of a datagram were flipped; a checksum below KCP, or the cipher, found it out. */
  CORRUPTED,
  /** A datagram was cut short and arrived so. */
  TRUNCATED,
  /** A datagram arrived with junk behind it, less than a header. */
  PADDED,
  /** The link went silent for a while. */
  PARTITION,
  /** A datagram was lost because the link was silent. */
  LOST_IN_PARTITION,
  /** A datagram waited because the link's rate is limited. */
  QUEUED,
  /** A datagram was lost because the link's queue was full. */
  QUEUE_FULL,
  /** A machine did nothing for a while; its input waited. */
  MACHINE_PAUSED,
  /** A machine's clock leapt forward. */
  CLOCK_JUMPED,
  /** A reader took nothing for a while. */
  READING_PAUSED,
  /** A segment that told a closed window went out. */
  WINDOW_CLOSED,
  /** The MTU changed while data was under way. */
  MTU_CHANGED,
  /** There was no memory for a buffer. */
  ALLOCATION_FAILED,
  /** A message larger than allowed was offered. */
  MESSAGE_TOO_LARGE,

  /** Forged: random bytes. */
  GARBAGE(Origin.STRANGER),
  /** Forged: no bytes at all. */
  EMPTY(Origin.STRANGER),
  /** Forged: less than a header. */
  SHORT_HEADER(Origin.STRANGER),
  /** Forged: another conversation. */
  WRONG_CONV(Origin.STRANGER),
  /** Forged: a command that is none of the four. */
  UNKNOWN_COMMAND(Origin.STRANGER),
  /** Forged: a length beyond the end of the datagram. */
  LENGTH_BEYOND_END(Origin.STRANGER),
  /** Forged: a length of 2^31 or more. */
  LENGTH_NEGATIVE(Origin.STRANGER),
  /** Forged: a good segment with false payload before a bad one. */
  BAD_TAIL(Origin.STRANGER),
  /** Forged: una beyond all that was sent. */
  UNA_OF_UNSENT(Origin.STRANGER),
  /** Forged: the ACK of a segment that was not sent. */
  ACK_OF_UNSENT(Origin.STRANGER),
  /** Forged: the ACK of a segment that did arrive, with a timestamp that was never sent. */
  INVALID_TIMESTAMP(Origin.STRANGER),
  /** Forged: a segment beyond the receive window. */
  BEYOND_WINDOW(Origin.STRANGER),
  /** Forged: a fragment of a message larger than the receiver takes. */
  TOO_MANY_FRAGMENTS(Origin.STRANGER);

  private enum Origin {
    NATURE,
    STRANGER
  }

  private final Origin origin;

  Fault() {
    this(Origin.NATURE);
  }

  Fault(Origin origin) {
    this.origin = origin;
  }

  /** Whether it is a datagram that a stranger made up. */
  public boolean isForged() {
    return origin == Origin.STRANGER;
  }
}
