package io.kcp4j.lanes;

import io.kcp4j.Kcp;
import io.kcp4j.Unstable;
import io.netty.buffer.ByteBuf;
import java.util.Objects;

/**
 * The lanes of one session: its {@link io.kcp4j.SegmentSource} and its {@link
 * io.kcp4j.SegmentSink}. No I/O and no clock. Used by the session's thread.
 *
 * <p><b>Sending.</b> {@link Lane#send} queues messages, each of which leaves when priorities, the
 * session's windows and the peer's credit allow it. Before the peer has shown that it has lanes,
 * nothing but a byte leaves that begins the session.
 *
 * <p><b>Receiving.</b> {@link #nextNews} returns the lanes on which something has happened, one
 * after the other: there are messages to {@linkplain Lane#receive receive}, or the peer has
 * {@linkplain Lane#takeInputEnd ended} its direction.
 *
 * <p><b>Ends.</b> Each side ends its direction of a lane by {@link Lane#shutdownOutput}, and may
 * begin it again when the peer has read everything.
 */
@Unstable
public final class Lanes {

  private final Kcp kcp;
  private final LanesConfig config;
  private final boolean isClient;
  private final long hashSeed;
  private final LaneTable table = new LaneTable();
  private final NewsQueue news = new NewsQueue();
  private final ControlFrames control;
  private final LaneSender sender;
  private final LaneReceiver receiver;
  private final UnreliableSender unreliableSender;
  private final UnreliableReceiver unreliableReceiver;
  private final PeerLanes peerLanes;
  private final LaneInput input;

  /** How large an unreliable message may be. */
  private int maxUnreliableBytes = Integer.MAX_VALUE;

  private boolean isOpen;
  private boolean isUnsupported;
  private boolean isClosed;

  /**
   * Makes the lanes of a session before that has sent or received anything.
   *
   * @param kcp the session's, whose delivery is {@link io.kcp4j.Delivery#LANES}
   * @param isClient whether this side begins the session
   * @param hashSeed a random number that others cannot guess, by which the numbers of messages are
   *     hashed; it may be that of other sessions, too
   * @throws IllegalStateException if the delivery is another one
   */
  public Lanes(Kcp kcp, LanesConfig config, boolean isClient, long hashSeed) {
    this.kcp = Objects.requireNonNull(kcp, "kcp");
    this.config = Objects.requireNonNull(config, "config");
    this.isClient = isClient;
    this.hashSeed = hashSeed;
    peerLanes = new PeerLanes(kcp, config);
    control = new ControlFrames(config.maxLanes(), config.budgetBytes());
    sender = new LaneSender(kcp, control);
    receiver = new LaneReceiver(this, kcp, control, config);
    unreliableSender = new UnreliableSender(sender, kcp, config.unreliableQueue());
    unreliableReceiver = new UnreliableReceiver(this, kcp, config);
    input = new LaneInput(this, kcp, control, receiver, unreliableReceiver, peerLanes);
    kcp.sink(new SegmentDemux(this, kcp, sender, receiver, unreliableReceiver));
    kcp.source(sender);
    if (isClient) {
      sender.sendPreface();
    }
  }

  /** The settings. */
  public LanesConfig config() {
    return config;
  }

  // The peer

  boolean isClient() {
    return isClient;
  }

  /** Whether the peer has shown that it has lanes. */
  public boolean isOpen() {
    return isOpen;
  }

  /**
   * The peer has lanes. Messages leave from now on; those that it does not take are dropped.
   *
   * @param maxLanes how many lanes it takes
   * @param budgetBytes its budget
   * @return false if the numbers are impossible; nothing has changed then
   */
  public boolean open(int maxLanes, int budgetBytes) {
    if (!LanesConfig.isPossible(maxLanes, budgetBytes)) {
      return false;
    }
    if (!isOpen) {
      isOpen = true;
      sender.limits(maxLanes, budgetBytes);
      table.forEach(this::dropUnlessPossible);
      sender.open();
    }
    return true;
  }

  /** Drops what was sent on a lane that the peer does not have, the end, too. */
  private void dropUnlessPossible(Lane lane) {
    if (!sender.isPossible(lane.id())) {
      lane.output = Lane.Output.UNUSED;
      control.drop(lane, ControlFrames.FIN);
      drop(lane, LaneSend.Drop.NO_SUCH_LANE);
    }
  }

  private void drop(Lane lane, LaneSend.Drop reason) {
    if (lane.config().kind().isReliable()) {
      sender.dropAll(lane, reason);
    } else {
      unreliableSender.dropAll(lane, reason);
    }
  }

  /** The peer has not answered the offer of a client, which is repeated behind another byte. */
  public void offerAgain() {
    if (!isOpen) {
      sender.sendPreface();
      kcp.sourceBecameReady();
    }
  }

  /** The peer has no lanes. */
  public void refuse() {
    isUnsupported = !isOpen;
  }

  /** Whether the session has to end, since the peer has no lanes. */
  public boolean isUnsupported() {
    return isUnsupported;
  }

  // Lanes

  /**
   * The lane with this id.
   *
   * @param id 0 to {@value LanesConfig#MAX_LANES} - 1; both sides mean the same lane by it
   * @throws IllegalArgumentException if the peer takes no such lane, as far as is known, or if the
   *     id is out of range
   */
  public Lane lane(int id) {
    LaneConfig.checkRange("lane", id, 0, LanesConfig.MAX_LANES - 1);
    Lane lane = table.get(id);
    if (lane == null) {
      checkPossible(id);
      lane = make(id);
    }
    return lane;
  }

  private void checkPossible(int id) {
    if (!sender.isPossible(id) && id >= config.maxLanes()) {
      throw new IllegalArgumentException("lane: " + id + " (expected: one that the peer takes)");
    }
  }

  private Lane make(int id) {
    Lane lane = new Lane(this, id, config.lane(id));
    table.add(lane);
    return lane;
  }

  /** The lane, or null if it has not been used yet. */
  Lane find(int id) {
    return table.get(id);
  }

  /** Whether the peer may send on a lane with this id. */
  boolean isAllowed(int id) {
    return id < config.maxLanes();
  }

  /**
   * The lane on which the peer sends; null if it is not allowed to, or may not begin another lane
   * now.
   */
  Lane findOrBegin(int id) {
    Lane lane = table.get(id);
    if (lane != null && lane.inputKind != null) {
      return lane;
    }
    return isAllowed(id) ? begin(lane, id) : null;
  }

  private Lane begin(Lane found, int id) {
    if (found == null && !peerLanes.tryAdd(table.neededBytes(id))) {
      return null;
    }
    Lane lane = found == null ? make(id) : found;
    return peerLanes.tryBegin(lane) ? lane : null;
  }

  /** What the lanes of the peer count, in bytes. */
  int chargedBytes() {
    return peerLanes.chargedBytes();
  }

  /**
   * Sets how much memory the driver uses for each lane that the peer begins, as for a channel.
   *
   * @param bytes default 0
   */
  public void attachmentBytes(int bytes) {
    peerLanes.attachmentBytes(bytes);
  }

  /**
   * The next lane on which something has happened since it was returned last, or null: there is
   * something to receive, the peer has ended its direction, or has read everything that this side
   * had ended.
   */
  public Lane nextNews() {
    return news.poll();
  }

  /** Whether {@link #nextNews} would return a lane. */
  public boolean hasNews() {
    return !news.isEmpty();
  }

  /** Something has happened on a lane. */
  void news(Lane lane) {
    news.add(lane);
  }

  // Sending

  LaneSender sender() {
    return sender;
  }

  /** Whether an unreliable message waits to be sent. */
  public boolean hasUnreliable() {
    return isOpen && !unreliableSender.isEmpty();
  }

  /** Sets how large unreliable messages may be, in bytes. */
  public void maxUnreliableBytes(int bytes) {
    maxUnreliableBytes = bytes;
  }

  /** The peer takes unreliable messages with numbers of 32 bits. To be called before any leave. */
  public void useLongNumbers() {
    unreliableSender.useLongNumbers();
  }

  int maxMessageBytes(LaneKind kind) {
    return kind.isReliable() ? sender.maxMessageBytes() : maxUnreliableBytes;
  }

  void send(Lane lane, LaneSend message) {
    message.queued();
    if (!sender.isPossible(lane.id())) {
      throw new IllegalArgumentException(
          "lane: " + lane.id() + " (expected: one that the peer takes)");
    }
    if (message.bytes() > lane.maxMessageBytes()) {
      throw new IllegalArgumentException(
          "message: " + message.bytes() + " bytes (expected: <= " + lane.maxMessageBytes() + ")");
    }
    if (!lane.isOutputOpen()) {
      throw new IllegalStateException(lane + ": ended (expected: open, or read by the peer)");
    }
    if (isClosed) {
      throw new IllegalStateException("session: closed (expected: open)");
    }
    if (lane.config().kind().isReliable()) {
      sender.send(lane, message);
    } else {
      unreliableSender.send(lane, message);
    }
  }

  /**
   * Decides which unreliable messages leave next.
   *
   * @param roomBytes how many bytes of items the last datagram has room for
   * @param mostBytes how many another one has room for
   * @param isLargest whether no datagram could have more room, so that what does not fit is dropped
   * @return the bytes of their items; 0 for none
   */
  public int planUnreliable(int roomBytes, int mostBytes, boolean isLargest) {
    int bytes = unreliableSender.plan(roomBytes, mostBytes);
    while (bytes == 0 && isLargest && !unreliableSender.isEmpty()) {
      unreliableSender.dropFirst();
      bytes = unreliableSender.plan(roomBytes, mostBytes);
    }
    return bytes;
  }

  /** Writes the items that {@link #planUnreliable} has decided on. */
  public void writeUnreliable(ByteBuf out) {
    unreliableSender.write(out);
  }

  void endOutput(Lane lane) {
    if (!lane.isOutputOpen() || !isEndable(lane)) {
      return;
    }
    if (unreliableSender.isPlanned(lane)) {
      lane.output = Lane.Output.ENDING;
    } else {
      sender.end(lane);
    }
  }

  /** An unused lane needs no end, and a peer takes none of a lane that it does not have. */
  private boolean isEndable(Lane lane) {
    return !lane.isUnused() && sender.isPossible(lane.id());
  }

  void abortOutput(Lane lane) {
    if (lane.output == Lane.Output.ENDED || !isEndable(lane)) {
      return;
    }
    if (!lane.config().kind().isReliable()) {
      unreliableSender.dropAll(lane, LaneSend.Drop.LANE_CLOSED);
    }
    if (unreliableSender.isPlanned(lane)) {
      lane.output = Lane.Output.ENDING;
    } else {
      sender.abort(lane);
    }
  }

  // Receiving

  /** The memory that is held, in bytes. */
  int heldBytes() {
    return receiver.heldBytes() + unreliableReceiver.heldBytes();
  }

  /** Whether reliable messages, or ends of lanes, have not been taken. */
  boolean hasUnread() {
    return receiver.hasUnread() || input.hasEnds();
  }

  /** The inbox of a lane, which is made if there is none. */
  LaneInbox inbox(Lane lane) {
    if (lane.inbox == null) {
      lane.inbox = new LaneInbox(lane.base, hashSeed);
    }
    return lane.inbox;
  }

  /** The inbox takes no memory if nothing is in it. */
  void releaseIfEmpty(Lane lane) {
    if (lane.inbox != null && lane.inbox.isEmpty(lane.base)) {
      lane.inbox = null;
    }
  }

  /** A segment with a frame of the lane has been taken in, or not. */
  void endSegment(Lane lane) {
    if (lane.inbox != null) {
      lane.inbox.endSegment();
      releaseIfEmpty(lane);
    }
    peerLanes.endIfUnused(lane);
  }

  ByteBuf receive(Lane lane) {
    return input.receive(lane);
  }

  /** A message arrives, or a part of one. */
  void inputBegun(Lane lane, LaneKind kind) {
    input.begun(lane, kind);
  }

  void discardInput(Lane lane) {
    input.discard(lane);
  }

  /** The peer has ended its direction, and everything before has arrived. */
  void inputEnded(Lane lane) {
    input.ended(lane);
  }

  boolean takeInputEnd(Lane lane) {
    return input.takeEnd(lane);
  }

  /** The peer has read everything that this side had ended. */
  void outputRead(Lane lane) {
    peerLanes.endIfUnused(lane);
    news(lane);
  }

  /**
   * Takes in an unreliable message.
   *
   * @param data its bytes from {@code index} to {@code index + length} are the value of an item
   *     with this type, at least {@value LaneItem#VALUE_HEADER_BYTES}, or {@value
   *     LaneItem#VALUE_HEADER_32_BYTES} if numbers have 32 bits
   */
  public void receiveUnreliable(int type, ByteBuf data, int index, int length) {
    if (isOpen) {
      unreliableReceiver.receive(type, data, index, length);
    }
  }

  /** Releases all buffers, and drops what waits to be sent. */
  public void close() {
    isClosed = true;
    unreliableSender.close();
    table.forEach(this::close);
    sender.onSent(0); // If a flush has failed, they have not been told.
    news.clear();
    peerLanes.close();
  }

  private void close(Lane lane) {
    lane.output = Lane.Output.UNUSED;
    drop(lane, LaneSend.Drop.SESSION_CLOSED);
    if (LaneInput.isUnreliable(lane)) {
      unreliableReceiver.close(lane);
    } else if (lane.inbox != null) {
      receiver.close(lane);
    }
  }
}
