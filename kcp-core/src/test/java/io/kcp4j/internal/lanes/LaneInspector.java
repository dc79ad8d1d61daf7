package io.kcp4j.internal.lanes;

import io.kcp4j.internal.wire.SegmentSource;
import io.kcp4j.lanes.LanesConfig;

/**
 * What lanes hold, added up from their messages: for tests that compare it with what the lanes
 * themselves count.
 */
public final class LaneInspector {

  private final Lanes lanes;
  private final int maxLanes;

  /**
   * Makes one.
   *
   * @param maxLanes only lanes with lower ids are looked at
   */
  public LaneInspector(Lanes lanes, int maxLanes) {
    this.lanes = lanes;
    this.maxLanes = maxLanes;
  }

  /** What fills segments, which otherwise only the session uses. */
  public SegmentSource source() {
    return lanes.sender();
  }

  // One lane

  /** The lane, or null if it has not been used yet. */
  public Lane find(int id) {
    return lanes.find(id);
  }

  /** The lowest number of which not all has arrived. */
  public static int base(Lane lane) {
    return lane.base;
  }

  /** The number of the message that is read next. */
  public static int nextNumber(Lane lane) {
    return lane.inbox.first().number;
  }

  /** The size of the message that is read next. */
  public static int nextBytes(Lane lane) {
    return lane.inbox.first().totalBytes;
  }

  /** The number that the next message gets which is sent, unless messages before it are dropped. */
  public static int nextSentNumber(Lane lane) {
    LaneScheduler.Outbox outbox = lane.outbox;
    int waiting = outbox == null ? 0 : outbox.messages() - (outbox.sentBytes() > 0 ? 1 : 0);
    return lane.sentMessages + waiting;
  }

  /** What was sent and is not known to have been read. */
  public static int outstanding(Lane lane) {
    return lane.outstanding();
  }

  /** What was read and has not been reported. */
  public static int unreported(Lane lane) {
    return lane.unreported();
  }

  /** Whether {@link Lanes#nextNews} is going to return the lane. */
  public static boolean hasNews(Lane lane) {
    return lane.is(Lane.NEWS);
  }

  /** Whether nothing has ever arrived on the lane, and what arrives is not discarded. */
  public static boolean isInputUnused(Lane lane) {
    return lane.base == 0
        && lane.inbox == null
        && lane.inputKind == null
        && !lane.isInputEnded()
        && !lane.isInputDiscarded();
  }

  private static boolean isUnreliable(Lane lane) {
    return lane.inputKind != null && !lane.inputKind.isReliable();
  }

  /** What the messages of a reliable lane count against the budget. */
  public static long unreadBytes(Lane lane) {
    LaneInbox inbox = lane.inbox;
    if (inbox == null || isUnreliable(lane)) {
      return 0;
    }
    int overhead = LanesConfig.MESSAGE_OVERHEAD_BYTES;
    long bytes = (long) overhead * (inbox.end - lane.base);
    for (int number = lane.base; number != inbox.end; number++) {
      InboundMessage message = inbox.get(number);
      bytes += message == null || message.content == null ? 0 : message.totalBytes;
    }
    for (InboundMessage message = inbox.first(); message != null; message = message.next) {
      bytes += message.isPassed ? message.totalBytes + overhead : 0;
    }
    return bytes;
  }

  // All lanes

  /** What the messages of all reliable lanes count against the budget. */
  public long unreadBytes() {
    long bytes = 0;
    for (int id = 0; id < maxLanes; id++) {
      Lane lane = lanes.find(id);
      bytes += lane == null ? 0 : unreadBytes(lane);
    }
    return bytes;
  }

  /**
   * What all lanes have sent that is not known to have been read; -1 if that of one is negative.
   */
  public long outstanding() {
    long bytes = 0;
    for (int id = 0; id < maxLanes; id++) {
      Lane lane = lanes.find(id);
      int outstanding = lane == null ? 0 : lane.outstanding();
      if (outstanding < 0) {
        return -1;
      }
      bytes += outstanding;
    }
    return bytes;
  }

  /** The capacity of the buffers of all messages. */
  public long contentBytes() {
    return heldBytes(0, false);
  }

  /** The memory of all messages and rings, as far as it counts. */
  public long heldBytes() {
    return heldBytes(InboundMessage.Memory.OVERHEAD_BYTES, true);
  }

  /** What the lanes count that the peer has begun, in bytes. */
  public long laneBytes() {
    return lanes.peerLanes().chargedBytes();
  }

  private long heldBytes(int overheadBytes, boolean areNumbersCounted) {
    long bytes = 0;
    for (int id = 0; id < maxLanes; id++) {
      Lane lane = lanes.find(id);
      LaneInbox inbox = lane == null ? null : lane.inbox;
      if (inbox == null) {
        continue;
      }
      if (inbox.end - lane.base < 0) {
        throw new AssertionError("an end below the base");
      }
      boolean isUnreliable = isUnreliable(lane);
      int numberBytes = areNumbersCounted ? InboundMessage.Memory.NUMBER_BYTES : 0;
      for (InboundMessage message : inbox.byNumber()) {
        boolean isRead = message == InboundMessage.READ;
        bytes += isRead ? numberBytes : heldBytes(message, overheadBytes);
      }
      for (InboundMessage message = inbox.first(); message != null; message = message.next) {
        boolean isFoundByNumber = !isUnreliable && !message.isPassed;
        bytes += isFoundByNumber ? 0 : heldBytes(message, overheadBytes);
      }
    }
    return bytes;
  }

  private static long heldBytes(InboundMessage message, int overheadBytes) {
    if (message == null || message.content == null) {
      return 0;
    }
    int bytes = message.content.capacity();
    if (message.receivedBytes > message.totalBytes || bytes > message.totalBytes) {
      throw new AssertionError("more of a message than it has");
    }
    return (long) bytes + overheadBytes;
  }

  /** Whether something of a reliable lane waits to be read, or the end of any lane to be taken. */
  public boolean hasUnread() {
    for (int id = 0; id < maxLanes; id++) {
      Lane lane = lanes.find(id);
      boolean isReadable = lane != null && lane.isReadable() && !isUnreliable(lane);
      if (isReadable || (lane != null && lane.is(Lane.INPUT_ENDING))) {
        return true;
      }
    }
    return false;
  }

  /** A value of all that segments may change; the same for an unused lane as for none. */
  public long fingerprint() {
    long sum = 0;
    for (int id = 0; id < maxLanes; id++) {
      Lane lane = lanes.find(id);
      sum = 31 * sum + (lane == null ? 0 : fingerprint(lane));
    }
    return sum;
  }

  private static long fingerprint(Lane lane) {
    boolean isUnused = lane.output == Lane.Output.UNUSED;
    long sum = isUnused ? 0 : lane.output.name().hashCode();
    sum = 31 * sum + (lane.inputKind == null ? 0 : lane.inputKind.name().hashCode());
    sum = 31 * sum + lane.base;
    sum = 31 * sum + lane.consumed;
    sum = 31 * sum + lane.consumedByPeer;
    sum = 31 * sum + lane.sentMessages;
    sum = 31 * sum + lane.controlDue;
    sum = 31 * sum + (lane.is(Lane.INPUT_ENDING) ? 1 : 0);
    sum = 31 * sum + (lane.is(Lane.OUTPUT_STOPPED) ? 1 : 0);
    LaneInbox inbox = lane.inbox;
    if (inbox == null) {
      return sum;
    }
    sum += 7L * inbox.readable() + 11L * (inbox.end - lane.base) + (inbox.hasFin ? inbox.fin : 0);
    for (int number = lane.base; number != inbox.end; number++) {
      InboundMessage message = inbox.get(number);
      sum += message == null ? 0 : (number + 1L) * (1 + message.receivedBytes);
    }
    return sum;
  }
}
