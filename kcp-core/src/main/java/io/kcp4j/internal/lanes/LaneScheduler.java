package io.kcp4j.internal.lanes;

import io.kcp4j.KcpTracer;
import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.scheduling.WeightedScheduler;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LanesConfig;

/**
 * Chooses the reliable lane that sends next: by priority and weight, among the lanes whose next
 * message the peer's credit allows. The others wait for credit, in the order in which they began
 * to.
 *
 * <p>The credit of a lane limits what it may send that the peer has not read (protocol.md 15.4).
 * Each lane has a part of its own. Beyond that, it shares a pool with the others, from which it
 * takes no more than it leaves (dynamic thresholds: Choudhury and Hahne, 1998): so the pool is
 * never used up, however many lanes are not read. A message is charged as a whole before any of it
 * leaves, since a part of it could not be read.
 */
final class LaneScheduler {

  /** A turn is a frame: what a segment holds of a lane. */
  private static final int TURN_BYTES = 1;

  /** This many lanes that have sent last keep their outboxes, and their places in the scheduler. */
  private static final int RECENT = 32;

  private final Kcp kcp;
  private final WeightedScheduler<Outbox> ready = new WeightedScheduler<>(TURN_BYTES);

  /** Lanes that wait for credit or, before the peer's limits are known, for those; linked. */
  private Outbox firstBlocked;

  private Outbox lastBlocked;

  private final Outbox[] recent = new Outbox[RECENT];
  private int nextRecent;

  /** Whether the peer's limits are known. */
  private boolean isOpen;

  /** Whether the peer has read something since {@link #unblock}. */
  private boolean hasNewCredit;

  private int laneBytes;
  private int poolBytes;

  /** The bytes that all lanes have taken from the pool. */
  private int pooledBytes;

  /** The frames of the lanes that are ready, in bytes, or a little more. */
  private int readyBytes;

  LaneScheduler(Kcp kcp) {
    this.kcp = kcp;
  }

  boolean isOpen() {
    return isOpen;
  }

  /**
   * The peer has told its limits. Lanes that wait stay blocked until {@link #open}.
   *
   * @param maxLanes how many lanes it takes
   * @param budgetBytes its budget
   */
  void limits(int maxLanes, int budgetBytes) {
    laneBytes = LanesConfig.laneBytes(maxLanes, budgetBytes);
    poolBytes = LanesConfig.poolBytes(budgetBytes);
  }

  /** Lanes may send from now on, as far as the limits allow. */
  void open() {
    isOpen = true;
  }

  // Lanes that have something to send

  /** Whether a lane may send now, or might since credit has come. */
  boolean mayBeReady() {
    return hasNewCredit || (isOpen && ready.size() > 0);
  }

  /** How many lanes are ready. */
  int readyLanes() {
    return ready.size();
  }

  /** About how many bytes the frames of the lanes take that are ready. */
  int readyBytes() {
    return readyBytes;
  }

  /** The outbox of the lane that sends next, or null. */
  Outbox peek() {
    return ready.peek();
  }

  /** Queues a message on a lane. */
  void queue(Lane lane, OutboundMessage message) {
    if (lane.outbox == null) {
      lane.outbox = new Outbox(lane);
    }
    Outbox outbox = lane.outbox;
    boolean wasEmpty = outbox.isEmpty();
    int before = outbox.frameBytes;
    outbox.add(message);
    if (wasEmpty) {
      add(outbox);
    } else if (outbox.entry.isQueued()) {
      readyBytes += outbox.frameBytes - before;
    }
  }

  /** Adds an outbox that is not empty to those that are ready or to those that are blocked. */
  void add(Outbox outbox) {
    if (isAllowed(outbox)) {
      ready.add(outbox.entry);
      readyBytes += outbox.frameBytes;
    } else {
      block(outbox);
    }
  }

  /** Removes an outbox, whether it is ready or blocked. */
  void remove(Outbox outbox) {
    if (outbox.entry.isQueued()) {
      ready.remove(outbox.entry);
      readyBytes -= outbox.frameBytes;
    } else {
      removeBlocked(outbox);
    }
  }

  /** The lane's settings have changed. */
  void classify(Outbox outbox) {
    LaneConfig config = outbox.lane.config();
    ready.classify(outbox.entry, config.priority(), config.weight());
  }

  /** Bytes of the first message of an outbox have been sent, but not all of them. */
  void sent(Outbox outbox, int bytes) {
    outbox.sent(bytes);
    readyBytes -= bytes;
  }

  /** Removes the first message of an outbox that is ready: all of it has been sent. */
  void removeFirst(Outbox outbox) {
    int before = outbox.frameBytes;
    outbox.remove();
    readyBytes -= before - outbox.frameBytes;
    if (outbox.isEmpty()) {
      ready.remove(outbox.entry);
    }
  }

  /** A lane has written a frame of this size. */
  void charge(Outbox outbox, int bytes) {
    ready.charge(outbox.entry, bytes);
  }

  /** A lane has written several frames in a row, each of this size. */
  void charge(Outbox outbox, int frames, int frameBytes) {
    ready.charge(outbox.entry, frames, frameBytes);
  }

  /** Nothing waits any more on a lane: its outbox is kept until other lanes have sent. */
  void keepEmpty(Outbox outbox) {
    if (outbox.isRecent) {
      return;
    }
    Outbox oldest = recent[nextRecent];
    if (oldest != null) {
      oldest.isRecent = false;
      if (oldest.isEmpty() && oldest.cutBytes == 0) {
        oldest.forget();
      }
    }
    outbox.isRecent = true;
    recent[nextRecent] = outbox;
    nextRecent = (nextRecent + 1) % RECENT;
  }

  // Lanes that wait for credit

  /** The first lane that is blocked, or null. {@link Outbox#nextBlocked} is the next one. */
  Outbox firstBlocked() {
    return firstBlocked;
  }

  private void block(Outbox outbox) {
    if (!outbox.isBlocked) {
      outbox.isBlocked = true;
      outbox.previousBlocked = lastBlocked;
      if (lastBlocked == null) {
        firstBlocked = outbox;
      } else {
        lastBlocked.nextBlocked = outbox;
      }
      lastBlocked = outbox;
    }
    KcpTracer tracer = kcp.tracer();
    if (isOpen && tracer != null) {
      tracer.laneBlocked(kcp.tracedAtUs(), outbox.lane.id());
    }
  }

  private void removeBlocked(Outbox outbox) {
    if (!outbox.isBlocked) {
      return;
    }
    Outbox previous = outbox.previousBlocked;
    Outbox next = outbox.nextBlocked;
    if (previous == null) {
      firstBlocked = next;
    } else {
      previous.nextBlocked = next;
    }
    if (next == null) {
      lastBlocked = previous;
    } else {
      next.previousBlocked = previous;
    }
    outbox.isBlocked = false;
    outbox.previousBlocked = null;
    outbox.nextBlocked = null;
  }

  /** Another lane has used up the credit: an outbox is ready no more. */
  void blockReady(Outbox outbox) {
    remove(outbox);
    block(outbox);
  }

  /**
   * Schedules lanes that wait, if credit has come: those that have waited longest, as far as there
   * is credit for all of them. A lane for which there is not keeps its place. However many reports
   * arrive in a batch, the lanes are looked through once.
   */
  void unblockIfCredit() {
    if (hasNewCredit) {
      unblock();
    }
  }

  /** Schedules lanes that wait for the limits, which are known now, in the same way. */
  void unblock() {
    hasNewCredit = false;
    int promisedBytes = 0;
    for (Outbox outbox = firstBlocked; outbox != null; ) {
      Outbox next = outbox.nextBlocked;
      int charge = outbox.firstCharge();
      if (allows(outbox.lane, charge, promisedBytes)) {
        promisedBytes += growth(outbox.lane, charge);
        removeBlocked(outbox);
        add(outbox);
      }
      outbox = next;
    }
  }

  // Credit

  /** Whether the first message of an outbox may leave. */
  boolean isAllowed(Outbox outbox) {
    return isOpen && (outbox.sentBytes > 0 || allows(outbox.lane, outbox.firstCharge(), 0));
  }

  /**
   * Whether a message may be begun.
   *
   * @param promisedBytes the bytes that others will take from the pool before
   */
  private boolean allows(Lane lane, int charge, int promisedBytes) {
    int before = pooled(lane);
    int after = before + growth(lane, charge);
    return after == 0 || after <= (poolBytes - (pooledBytes - before) - promisedBytes) / 2;
  }

  /** The bytes that a message would take from the pool. */
  private int growth(Lane lane, int charge) {
    return Math.max(lane.outstanding() + charge - laneBytes, 0) - pooled(lane);
  }

  /** The bytes that a lane has taken from the pool. */
  private int pooled(Lane lane) {
    return Math.max(lane.outstanding() - laneBytes, 0);
  }

  /** A lane begins a message. */
  void begin(Lane lane, int charge) {
    int before = pooled(lane);
    lane.sentCharge += charge;
    pooledBytes += pooled(lane) - before;
    lane.sentMessages++;
  }

  /**
   * The peer has read more on a lane.
   *
   * @param total the charge of all that it has read, modulo 2^32
   * @return false if it cannot have read that
   */
  boolean consumed(Lane lane, int total) {
    int more = total - lane.consumedByPeer;
    if (more < 0) {
      return true; // An older report, which arrives late.
    }
    if (more > lane.outstanding()) {
      return false;
    }
    int before = pooled(lane);
    lane.consumedByPeer = total;
    pooledBytes += pooled(lane) - before;
    hasNewCredit |= more > 0 && firstBlocked != null;
    return true;
  }

  /**
   * The messages that wait to be sent on one lane. A reliable lane has its place in the scheduler
   * here.
   */
  static final class Outbox extends OutboundMessage.Queue<OutboundMessage> {

    final Lane lane;
    private final WeightedScheduler.Entry<Outbox> entry;

    /** The bytes of the first message that have been sent. */
    private int sentBytes;

    /** The content that waits, in bytes. */
    private int queuedBytes;

    /** The frames that it takes, in bytes, or a little more. */
    private int frameBytes;

    /** Whether it is kept though it is empty. */
    private boolean isRecent;

    private boolean isBlocked;
    private Outbox previousBlocked;
    private Outbox nextBlocked;

    /** Of an aborted lane: how much of its last message has been sent, if not all of it. */
    int cutBytes;

    Outbox(Lane lane) {
      this.lane = lane;
      entry = new WeightedScheduler.Entry<>(this, lane.config().priority(), lane.config().weight());
    }

    /** The lane takes no memory for it any more. */
    @SuppressWarnings("ReferenceEquality") // the same object
    void forget() {
      if (lane.outbox == this) {
        lane.outbox = null;
      }
    }

    /** The charge of the first message. */
    int firstCharge() {
      return first().bytes() + LanesConfig.MESSAGE_OVERHEAD_BYTES;
    }

    int queuedBytes() {
      return queuedBytes;
    }

    /** The bytes of the first message that have been sent; 0 if it has not been begun. */
    int sentBytes() {
      return sentBytes;
    }

    Outbox nextBlocked() {
      return nextBlocked;
    }

    @Override
    public void add(OutboundMessage message) {
      super.add(message);
      queuedBytes += message.bytes();
      frameBytes += FrameWriter.estimateBytes(lane.id(), message.bytes());
    }

    private void sent(int bytes) {
      sentBytes += bytes;
      queuedBytes -= bytes;
      frameBytes -= bytes;
    }

    /** Removes the first message, the rest of which has been sent or is dropped. */
    @Override
    public OutboundMessage remove() {
      OutboundMessage removed = super.remove();
      int bytes = removed.bytes();
      queuedBytes -= bytes - sentBytes;
      frameBytes -= FrameWriter.estimateBytes(lane.id(), bytes) - sentBytes;
      sentBytes = 0;
      return removed;
    }
  }
}
