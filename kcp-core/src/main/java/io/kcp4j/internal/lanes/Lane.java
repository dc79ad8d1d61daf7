package io.kcp4j.internal.lanes;

import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.LaneScheduler.Outbox;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LaneStats;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import java.lang.invoke.VarHandle;
import java.util.Objects;

/**
 * One lane of a session: messages in both directions, which are independent of each other. A lane
 * exists as long as its session. Either side can end its direction, and begin it again when the
 * other side has read everything. Used by the session's thread.
 */
public final class Lane {

  private final Lanes lanes;

  /** Of 16 bits. */
  private final char id;

  private LaneConfig config;
  private Object attachment;

  // What is sent.

  /** Null unless something waits, or has waited lately. */
  Outbox outbox;

  /** How many messages and ends have been begun, modulo 2^32: the number of the next one. */
  int sentMessages;

  /** The first of them since the lane has ended last. */
  int firstMessage;

  /** How much has been begun, and how much of it the peer has read, modulo 2^32. */
  int sentCharge;

  int consumedByPeer;

  Output output = Output.UNUSED;

  // What is received.

  /** Null unless something is there that is not read, or not complete. */
  LaneInbox inbox;

  /**
   * The lowest number of which not all has arrived. On an unreliable lane, one above the newest.
   */
  int base;

  /**
   * Of an unreliable lane: which of the 32 numbers below the base have arrived. Those before the
   * first message, or the last end, count as if they had.
   */
  int arrived = ALL_ARRIVED;

  /** How much has been read, and how much of it has been reported, modulo 2^32. */
  int consumed;

  int reported;

  static final int ALL_ARRIVED = -1;

  /** The kind of what the peer sends; null until something arrives. */
  LaneKind inputKind;

  // Lists that it may be in.

  Lane nextControl;
  Lane nextUnreported;
  Lane nextNews;
  byte controlDue;

  // Flags: fields of their own would take more memory, of which there may be 10,000 lanes.

  /** Whether what arrives is discarded. */
  static final int INPUT_DISCARDED = 1;

  /** Whether the peer has ended its direction, and this has not been taken yet. */
  static final int INPUT_ENDING = 2;

  static final int UNREPORTED = 4;

  static final int NEWS = 8;

  /** Whether this direction has ended by itself, and this has not been taken yet. */
  static final int OUTPUT_STOPPED = 16;

  /** Whether it is among the unreliable lanes that may have something unread. */
  static final int UNREAD = 32;

  /** Whether it counts, since the peer has begun it, with what the driver needs for it. */
  static final int CHARGED = 64;

  private byte flags;

  /** The state of the direction in which this side sends. */
  enum Output {
    /** Nothing has been sent, or nothing since the last end. */
    UNUSED,
    OPEN,
    /** The end leaves behind what waits. */
    ENDING,
    /** The end has been sent, and the peer has not read everything. */
    ENDED
  }

  Lane(Lanes lanes, int id, LaneConfig config) {
    this.lanes = lanes;
    this.id = (char) id;
    this.config = config;
  }

  /** The id, which both sides know: 0 to {@value LanesConfig#MAX_LANES} - 1. */
  public int id() {
    return id;
  }

  /** How this side sends. */
  public LaneConfig config() {
    return config;
  }

  /**
   * Changes how this side sends.
   *
   * @throws IllegalStateException if the kind would change, unless nothing has been sent since the
   *     lane was begun or has ended
   */
  public void config(LaneConfig config) {
    Objects.requireNonNull(config, "config");
    if (config.kind() != this.config.kind() && output != Output.UNUSED) {
      throw new IllegalStateException(
          "kind: " + config.kind() + " (expected: " + this.config.kind() + " as before)");
    }
    this.config = config;
    if (outbox != null) {
      lanes.sender().classify(outbox);
    }
  }

  /** An object of the driver's, such as a channel; null at first. */
  public Object attachment() {
    return attachment;
  }

  /** Sets the object of the driver's. */
  public void attachment(Object attachment) {
    this.attachment = attachment;
  }

  /** What has been sent and received. Other threads may ask, and see recent values. */
  public LaneStats stats() {
    VarHandle.acquireFence(); // Nothing below may be taken from an earlier call.
    Outbox sending = outbox;
    LaneInbox receiving = inbox;
    return new LaneStats(
        Integer.toUnsignedLong(sentMessages),
        Integer.toUnsignedLong(base),
        sending == null ? 0 : sending.messages(),
        sending == null ? 0 : sending.queuedBytes(),
        outstanding(),
        receiving == null ? 0 : receiving.readable());
  }

  /** The lanes of the session. */
  public Lanes lanes() {
    return lanes;
  }

  // Sending

  /**
   * Queues a message, which leaves when priorities and limits allow it. The session takes over the
   * buffer. The caller schedules a flush. On an unreliable lane, the oldest message that waits may
   * be dropped, which is notified from within this method.
   *
   * @throws IllegalArgumentException if the message is larger than {@link #maxMessageBytes}, or if
   *     the peer takes no such lane; the buffer stays the caller's
   * @throws IllegalStateException if this side has ended the lane, and the peer has not read all of
   *     it; the buffer stays the caller's
   */
  public void send(OutboundMessage message) {
    lanes.send(this, message);
  }

  /**
   * The largest message that this side may send on this lane, in bytes. As long as the peer's
   * limits are not known, a larger one is dropped when they are.
   */
  public int maxMessageBytes() {
    return lanes.maxMessageBytes(config.kind());
  }

  /** The content that waits to be sent, in bytes. */
  public int queuedBytes() {
    return outbox == null ? 0 : outbox.queuedBytes();
  }

  /** Whether messages may be sent: this side has not ended the lane, or the peer has read it. */
  public boolean isOutputOpen() {
    return output == Output.UNUSED || output == Output.OPEN;
  }

  /** Whether neither side has used the lane, or both have ended it since. */
  public boolean isUnused() {
    return output == Output.UNUSED && inputKind == null && !is(INPUT_ENDING | INPUT_DISCARDED);
  }

  /**
   * Ends the lane in this direction: the peer reads what has been sent, and then the end. Without
   * effect if it has ended. The caller schedules a flush.
   */
  public void shutdownOutput() {
    lanes.endOutput(this);
  }

  /** The same, and drops what waits to be sent. */
  public void abortOutput() {
    lanes.abortOutput(this);
  }

  /**
   * Whether this direction has ended otherwise than by {@link #shutdownOutput} and {@link
   * #abortOutput} since this was asked last: the peer has stopped reading the lane, or the buffer
   * of a message of which a part had left could not be read any more. What waited has been dropped
   * then.
   */
  public boolean takeOutputStop() {
    boolean isStopped = is(OUTPUT_STOPPED);
    set(OUTPUT_STOPPED, false);
    return isStopped;
  }

  /** What has been begun and the peer has not read, as far as is known. */
  int outstanding() {
    return sentCharge - consumedByPeer;
  }

  // Receiving

  /** Whether {@link #receive} would return a message. */
  public boolean isReadable() {
    return inbox != null && inbox.first() != null;
  }

  /**
   * Takes the next message, which makes room for the peer to send more. The caller schedules a
   * flush.
   *
   * @return the message, which belongs to the caller, or null if there is none now
   */
  public ByteBuf receive() {
    return lanes.receive(this);
  }

  /** The message with this number, from the base on; null if nothing of it has arrived. */
  InboundMessage begun(int number) {
    return inbox == null ? null : inbox.get(number);
  }

  /** Whether the peer sends unreliable messages. */
  boolean isInputUnreliable() {
    return inputKind != null && !inputKind.isReliable();
  }

  /**
   * Takes the number of an unreliable message that has arrived.
   *
   * @param takesOlder whether messages below the base are taken, too
   * @return whether it is new: it has not arrived before, and is not too old
   */
  boolean takeNumber(int number, boolean takesOlder) {
    int ahead = number - base;
    if (ahead >= 0) {
      arrived = ahead + 1 < Integer.SIZE ? arrived << (ahead + 1) | 1 : 1;
      advanceBase(number + 1);
      return true;
    }
    int bit = 1 << (-ahead - 1);
    boolean isNew = takesOlder && -ahead <= Integer.SIZE && (arrived & bit) == 0;
    if (isNew) {
      arrived |= bit;
    }
    return isNew;
  }

  /** Advances the base of an unreliable lane. */
  void advanceBase(int base) {
    this.base = base;
    if (inbox != null) {
      inbox.end = base; // Nothing is kept by number.
    }
  }

  /** The kind of what the peer sends; null until something has arrived, and after the end. */
  public LaneKind inputKind() {
    return inputKind;
  }

  /**
   * Takes the end of what the peer sends: whether the peer has ended its direction, and everything
   * before has been taken. True once for each end; the peer may begin the lane again then. The
   * caller schedules a flush.
   */
  public boolean takeInputEnd() {
    return lanes.peerLanes().takeEnd(this);
  }

  /** Whether there is a message to receive, or an end to take behind those. */
  public boolean hasInput() {
    return isReadable() || is(INPUT_ENDING);
  }

  /**
   * Discards what has been received and what is received from now on, until the peer ends its
   * direction. It is asked to, as soon as it has sent something. This ends with the peer's
   * direction: what the peer sends when it begins the lane again is received. Without effect on a
   * lane that is unused: there is nothing that could be discarded until an end. The caller
   * schedules a flush.
   */
  public void discardInput() {
    lanes.discardInput(this);
  }

  /** Whether what the peer sends is discarded. */
  public boolean isInputDiscarded() {
    return is(INPUT_DISCARDED);
  }

  /**
   * Discards no longer what arrives, if the peer has read the end of this direction, and sent
   * nothing since its own. Returns whether nothing is discarded.
   */
  public boolean keepInput() {
    if (output == Output.UNUSED && inputKind == null && inbox == null) {
      set(INPUT_DISCARDED, false);
    }
    return !is(INPUT_DISCARDED);
  }

  /** Whether the flag, or any of several, is set. */
  boolean is(int flag) {
    return (flags & flag) != 0;
  }

  void set(int flag, boolean value) {
    flags = (byte) (value ? flags | flag : flags & ~flag);
  }

  /** Whether the peer has ended its direction, and cannot know yet that this has been taken. */
  boolean isInputEnded() {
    return is(INPUT_ENDING) || isDue(ControlFrames.FIN_ACK);
  }

  /** This direction ends by itself, which the driver is told. */
  void outputStopped() {
    set(OUTPUT_STOPPED, true);
    lanes.news(this);
  }

  /** Whether such a control frame waits for the next segment. */
  boolean isDue(int controlFrame) {
    return (controlDue & controlFrame) != 0;
  }

  /** What has been read and not been reported. */
  int unreported() {
    return consumed - reported;
  }

  // Tracing

  /** Reports to the tracer of the session, if there is one, that a message has left. */
  void traceSent(Kcp kcp, int bytes) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneMessageSent(kcp.tracedAtUs(), id, bytes);
    }
  }

  /** Reports that a message can be read. */
  void traceReceived(Kcp kcp, int bytes) {
    KcpTracer tracer = kcp.tracer();
    if (tracer != null) {
      tracer.laneMessageReceived(kcp.tracedAtUs(), id, bytes);
    }
  }

  @Override
  public String toString() {
    return "lane " + (int) id;
  }
}
