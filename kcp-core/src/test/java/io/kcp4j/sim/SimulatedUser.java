package io.kcp4j.sim;

import static io.kcp4j.sim.VirtualTime.US_PER_MS;

import io.kcp4j.Delivery;
import io.kcp4j.internal.arq.Kcp;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.SplittableRandom;

/**
 * Writes to and reads from one side of a {@link SimulatedPair}, and checks what is received: every
 * byte once, in order and unaltered, and in message mode every message as it was sent.
 */
final class SimulatedUser implements PairUser {

  /** One message in so many is empty, and one in so many is tried with more than the limit. */
  private static final int SELDOM = 64;

  private final Kcp kcp;
  private final WireMonitor wire;
  private final Scenario.Side side;
  private final VirtualTime time;
  private final FaultCounts faults;
  private final SplittableRandom random;
  private final boolean hasMessages;
  private final Payload payload;
  private final ArrayDeque<Integer> messageSizes = new ArrayDeque<>();

  private SimulatedUser peer;

  private final ByteBuf unsent = Unpooled.buffer(4096);
  private boolean unsentIsWaiting;
  private long writesAtUs;
  private long bytesWritten;

  private long readsAtUs;
  private long bytesRead;

  SimulatedUser(
      Kcp kcp,
      WireMonitor wire,
      Scenario.Side side,
      VirtualTime time,
      FaultCounts faults,
      SplittableRandom random) {
    this.kcp = kcp;
    this.wire = wire;
    this.side = side;
    this.time = time;
    this.faults = faults;
    this.random = random;
    hasMessages = side.config().delivery() == Delivery.MESSAGE;
    payload = new Payload(random.split());
  }

  @Override
  public void connect(PairUser peer) {
    this.peer = (SimulatedUser) peer;
  }

  @Override
  public long bytesWritten() {
    return bytesWritten;
  }

  @Override
  public long bytesRead() {
    return bytesRead;
  }

  @Override
  public boolean isReadByPeer() {
    return peer.bytesRead == bytesWritten && messageSizes.isEmpty();
  }

  @Override
  public long nextTurnAtUs() {
    long write = !unsentIsWaiting && !isWritten() ? writesAtUs : Long.MAX_VALUE;
    long read = kcp.isReceivable() ? readsAtUs : Long.MAX_VALUE;
    return Math.min(write, read);
  }

  // Reading

  @Override
  public void stopReading(long untilUs) {
    readsAtUs = Math.max(readsAtUs, untilUs);
  }

  @Override
  public boolean read() {
    if (time.nowUs() < readsAtUs) {
      return false;
    }
    int taken = 0;
    while (kcp.isReceivable() && taken < side.reading().atOnce()) {
      ByteBuf data = kcp.receive();
      Check.that(data != null, "receivable, but nothing to receive");
      checkNext(data);
      data.release();
      taken++;
    }
    if (kcp.isReceivable()) {
      readsAtUs = time.nowUs() + side.reading().gapMs() * US_PER_MS;
    } else {
      Check.that(kcp.receive() == null, "not receivable, but received");
    }
    return taken > 0;
  }

  private void checkNext(ByteBuf data) {
    if (hasMessages) {
      Integer size = peer.messageSizes.poll();
      Check.that(
          size != null && size == data.readableBytes(),
          () -> "a message of " + data.readableBytes() + " bytes that was sent as " + size);
    }
    bytesRead += data.readableBytes();
    Check.that(bytesRead <= peer.bytesWritten, "more bytes than were sent");
    Check.that(peer.payload.matchesNext(data), () -> "altered within " + bytesRead + " bytes");
    Check.that(data.refCnt() == 1, () -> "a buffer with " + data.refCnt() + " owners");
  }

  // Writing

  @Override
  public boolean isWritten() {
    return wire.newSegments() >= side.segments() && !unsentIsWaiting;
  }

  @Override
  public boolean write() {
    boolean wrote = false;
    while (unsentIsWaiting || draw()) {
      if (hasMessages && unsent.readableBytes() > maxMessageBytes()) {
        // The MTU, or the peer's window, has shrunk while the message waited.
        takeBack();
        continue;
      }
      int before = unsent.readableBytes();
      boolean sendable = kcp.isSendable();
      boolean all = kcp.send(unsent);
      int taken = before - unsent.readableBytes();
      bytesWritten += taken;
      // Also if nothing was taken for lack of memory: the session has to wait for it then.
      wrote |= taken > 0 || all || (sendable && kcp.isSendDeferred());
      unsentIsWaiting = !all;
      Check.that(all || unsent.isReadable() || before == 0, "all was taken, but send says no");
      Check.that(!all || !unsent.isReadable(), "send says that all was taken");
      Check.that(all || taken == 0 || !hasMessages, "half a message taken");
      Check.that(sendable || (taken == 0 && !all), "not sendable, but taken");
      if (!all) {
        break;
      }
      writesAtUs = time.nowUs() + random.nextInt(side.writing().gapMs() + 1) * US_PER_MS;
    }
    return wrote;
  }

  /** Draws the next write if it is time to. */
  private boolean draw() {
    if (isWritten() || time.nowUs() < writesAtUs) {
      return false;
    }
    Scenario.Writing writing = side.writing();
    int bytes = random.nextInt(writing.minBytes(), writing.maxBytes() + 1);
    if (hasMessages) {
      if (random.nextInt(SELDOM) == 0) {
        offerTooLarge();
      }
      bytes = random.nextInt(SELDOM) == 0 ? 0 : Math.min(bytes, maxMessageBytes());
      messageSizes.add(bytes);
    }
    unsent.clear();
    payload.write(unsent, bytes);
    unsentIsWaiting = true;
    return true;
  }

  private void takeBack() {
    payload.unwrite(unsent.readableBytes());
    messageSizes.removeLast();
    unsentIsWaiting = false;
  }

  /** Before the peer has advertised its window only the user knows how much it takes. */
  private int maxMessageBytes() {
    int fragments = peer.side.config().receiveWindow();
    return Math.min(kcp.maxMessageBytes(), fragments * kcp.mssBytes());
  }

  private void offerTooLarge() {
    faults.add(Fault.MESSAGE_TOO_LARGE);
    ByteBuf tooLarge = Unpooled.wrappedBuffer(new byte[kcp.maxMessageBytes() + 1]);
    try {
      kcp.send(tooLarge);
    } catch (IllegalArgumentException expected) {
      Check.that(tooLarge.readerIndex() == 0, "a refused message was read");
      return;
    }
    throw new AssertionError("a message larger than the limit was taken");
  }
}
