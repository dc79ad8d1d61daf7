package io.kcp4j.internal.lanes;

import io.kcp4j.internal.arq.Kcp;
import io.kcp4j.internal.lanes.OutboundMessage.Drop;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.netty.buffer.ByteBuf;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * The lanes of one session: its {@link io.kcp4j.internal.wire.SegmentSource} and its {@link
 * io.kcp4j.internal.wire.SegmentSink}. No I/O and no clock. Used by the session's thread.
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
public final class Lanes {

  private final Kcp kcp;
  private final LanesConfig config;
  private final Table table = new Table();
  private final ControlFrames control;
  private final LaneSender sender;
  private final PeerLanes peerLanes;
  private final LaneReceiver receiver;
  private final UnreliableLanes unreliable;

  /** The lanes on which something has happened, each once, in this order; linked. */
  private Lane firstNews;

  private Lane lastNews;

  /** The room that a message of the extension has for unreliable messages, in bytes. */
  private int unreliableRoomBytes = Integer.MAX_VALUE;

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
    control = new ControlFrames(config.maxLanes(), config.budgetBytes());
    sender = new LaneSender(kcp, control);
    peerLanes = new PeerLanes(this, kcp, control, config, hashSeed);
    receiver = new LaneReceiver(this, peerLanes, kcp, control, config);
    unreliable = new UnreliableLanes(this, peerLanes, sender, kcp, config);
    kcp.sink(new SegmentDemux(this, isClient, kcp, control, sender, receiver, unreliable));
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
      drop(lane, Drop.NO_SUCH_LANE);
    }
  }

  private void drop(Lane lane, Drop reason) {
    if (lane.config().kind().isReliable()) {
      sender.dropAll(lane, reason);
    } else {
      unreliable.dropAll(lane, reason);
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
      if (!sender.isPossible(id) && !peerLanes.isAllowed(id)) {
        throw new IllegalArgumentException("lane: " + id + " (expected: one that the peer takes)");
      }
      lane = make(id);
    }
    return lane;
  }

  /** Makes a lane that has not been used yet. */
  Lane make(int id) {
    Lane lane = new Lane(this, id, config.lane(id));
    table.add(lane);
    return lane;
  }

  /** The lane with this id, or null if it has not been used yet. */
  public Lane find(int id) {
    return table.get(id);
  }

  /** The bytes by which the table grows when this lane, which is not there, is made. */
  int neededTableBytes(int id) {
    return table.neededBytes(id);
  }

  /** The lanes on which the peer sends. */
  PeerLanes peerLanes() {
    return peerLanes;
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
    Lane lane = firstNews;
    if (lane != null) {
      firstNews = lane.nextNews;
      lane.nextNews = null;
      lane.set(Lane.NEWS, false);
    }
    return lane;
  }

  /** Something has happened on a lane. */
  void news(Lane lane) {
    if (lane.is(Lane.NEWS)) {
      return;
    }
    lane.set(Lane.NEWS, true);
    if (firstNews == null) {
      firstNews = lane;
    } else {
      lastNews.nextNews = lane;
    }
    lastNews = lane;
  }

  // Sending

  LaneSender sender() {
    return sender;
  }

  /** Whether an unreliable message waits to be sent. */
  public boolean hasUnreliable() {
    return isOpen && !unreliable.isEmpty();
  }

  /** Sets the room that a message of the extension has for unreliable messages, in bytes. */
  public void unreliableRoomBytes(int bytes) {
    unreliableRoomBytes = bytes;
  }

  /** The peer takes unreliable messages with numbers of 32 bits. To be called before any leave. */
  public void useLongNumbers() {
    unreliable.useLongNumbers();
  }

  int maxMessageBytes(LaneKind kind) {
    return kind.isReliable()
        ? sender.maxMessageBytes()
        : unreliable.maxMessageBytes(unreliableRoomBytes);
  }

  void send(Lane lane, OutboundMessage message) {
    message.queued();
    message.lane = lane;
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
      unreliable.send(lane, message);
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
    return unreliable.plan(roomBytes, mostBytes, isLargest);
  }

  /** Writes the items that {@link #planUnreliable} has decided on. */
  public void writeUnreliable(ByteBuf out) {
    unreliable.write(out);
  }

  void endOutput(Lane lane) {
    if (!lane.isOutputOpen() || !isEndable(lane)) {
      return;
    }
    if (unreliable.isPlanned(lane)) {
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
      unreliable.dropAll(lane, Drop.LANE_CLOSED);
    }
    if (unreliable.isPlanned(lane)) {
      lane.output = Lane.Output.ENDING;
    } else {
      sender.abort(lane);
    }
  }

  // Receiving

  /** The next message of a lane, which becomes the caller's, or null. */
  ByteBuf receive(Lane lane) {
    if (!lane.isReadable()) {
      return null;
    }
    ByteBuf message = lane.isInputUnreliable() ? unreliable.read(lane) : receiver.read(lane);
    inputRead();
    return message;
  }

  void discardInput(Lane lane) {
    if (lane.is(Lane.INPUT_DISCARDED) || lane.isUnused()) {
      return;
    }
    if (lane.isInputUnreliable()) {
      unreliable.discard(lane);
    } else {
      receiver.discard(lane);
    }
    if (lane.inputKind != null) {
      peerLanes.stopDiscarded(lane);
    }
    peerLanes.takeEnd(lane);
    inputRead();
  }

  private void inputRead() {
    peerLanes.sendControl();
    kcp.sinkWasRead();
  }

  /**
   * Takes in an item of a message of the extension, if it is an unreliable message of a lane.
   *
   * @param type the type of the item
   * @param data its bytes from {@code index} to {@code index + length} are the value of the item,
   *     whose length is possible for the type
   * @return whether it is one
   */
  public boolean receiveUnreliable(int type, ByteBuf data, int index, int length) {
    boolean isMessage = UnreliableLanes.isItem(type);
    if (isMessage && isOpen) {
      unreliable.receive(type, data, index, length);
    }
    return isMessage;
  }

  /** Releases all buffers, and drops what waits to be sent. */
  public void close() {
    isClosed = true;
    unreliable.close();
    table.forEach(this::close);
    sender.onSent(0); // If a flush has failed, they have not been told.
    firstNews = null;
    peerLanes.close();
  }

  private void close(Lane lane) {
    lane.output = Lane.Output.UNUSED;
    drop(lane, Drop.SESSION_CLOSED);
    if (lane.isInputUnreliable()) {
      unreliable.close(lane);
    } else if (lane.inbox != null) {
      receiver.close(lane);
    }
  }

  /**
   * The lanes of a session by id, in pages, so that memory follows the number of lanes, unless a
   * peer spreads their ids. Pages are never removed, as lanes are not.
   */
  static final class Table {

    private static final int PAGE_BITS = 6;
    private static final int PAGE_LANES = 1 << PAGE_BITS;

    private static final int REFERENCE_BYTES = 4;
    private static final int HEADER_BYTES = 16;

    /** The memory of a page. */
    static final int PAGE_BYTES = HEADER_BYTES + PAGE_LANES * REFERENCE_BYTES;

    private Lane[][] pages = {};

    /** The lane, or null. */
    Lane get(int id) {
      int page = id >>> PAGE_BITS;
      return page < pages.length && pages[page] != null ? pages[page][id & (PAGE_LANES - 1)] : null;
    }

    /** How much memory {@link #add} takes for a lane with this id, in bytes. */
    int neededBytes(int id) {
      int page = id >>> PAGE_BITS;
      if (page >= pages.length) {
        return PAGE_BYTES + (capacityFor(page) - pages.length) * REFERENCE_BYTES;
      }
      return pages[page] == null ? PAGE_BYTES : 0;
    }

    private int capacityFor(int page) {
      return Math.max(page + 1, 2 * pages.length);
    }

    /** Adds a lane whose id is not there. */
    void add(Lane lane) {
      int page = lane.id() >>> PAGE_BITS;
      if (page >= pages.length) {
        pages = Arrays.copyOf(pages, capacityFor(page));
      }
      if (pages[page] == null) {
        pages[page] = new Lane[PAGE_LANES];
      }
      pages[page][lane.id() & (PAGE_LANES - 1)] = lane;
    }

    void forEach(Consumer<Lane> action) {
      for (Lane[] page : pages) {
        for (int i = 0; page != null && i < PAGE_LANES; i++) {
          if (page[i] != null) {
            action.accept(page[i]);
          }
        }
      }
    }
  }
}
