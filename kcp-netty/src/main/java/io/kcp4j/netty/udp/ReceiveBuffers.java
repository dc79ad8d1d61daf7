package io.kcp4j.netty.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelException;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.epoll.EpollDatagramChannelConfig;
import io.netty.util.UncheckedBooleanSupplier;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.Set;

/**
 * Gives an epoll socket the buffers that its {@link ReceiveCall} needs, and chooses between GRO and
 * recvmmsg, if both are allowed, by what comes.
 *
 * <p>With UDP_GRO one read returns a train of datagrams of one peer, if they came as a train; with
 * recvmmsg it returns whatever waits. So GRO is given up when a sample of reads, several at each
 * wake-up, has shown no train at all, and is tried again for another sample after a while. Trains
 * that wait in the socket when GRO is given up are lost, as datagrams may be; a sample without any
 * makes that improbable.
 */
final class ReceiveBuffers extends DefaultMaxMessagesRecvByteBufAllocator {

  /** The most datagrams that one recvmmsg takes in. */
  static final int MAX_SLOTS = 64;

  /** The fewest that it has room for: each costs some time, whether it is used or not. */
  private static final int MIN_SLOTS = 8;

  /** The longest train. */
  static final int GRO_BATCH_BYTES = 64 * 1024;

  /** Bounds how long answers wait. */
  private static final int MAX_DATAGRAMS_PER_BATCH = 128;

  private static final int SAMPLE_READS = 512;
  private static final int READS_BETWEEN_SAMPLES = 8 * SAMPLE_READS;

  /** So many reads at a wake-up, on average, make recvmmsg worth while. */
  private static final int MANY_READS = 4;

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(ReceiveBuffers.class);

  private final EpollDatagramChannelConfig socket;
  private final ReceiveSpace space;
  private final boolean isAuto;

  private ReceiveCall current;

  /** For how many datagrams the next recvmmsg has room; follows what comes. */
  private int slots = MIN_SLOTS;

  // Since the last judgement:
  private int reads;
  private int wakeUps;
  private int trains;

  private ReceiveBuffers(
      EpollDatagramChannelConfig socket, ReceiveSpace space, Set<ReceiveCall> allowed) {
    super(MAX_DATAGRAMS_PER_BATCH);
    this.socket = socket;
    this.space = space;
    isAuto = allowed.size() > 1;
    try {
      use(isAuto ? ReceiveCall.GRO : allowed.iterator().next());
    } catch (ChannelException e) {
      logger.debug("UDP_GRO is not to be had, by Linux before 5.0 for example", e);
      use(ReceiveCall.RECVMMSG);
    }
  }

  /** Has {@code socket} receive by one of the {@code allowed} calls, into {@code space}. */
  static void install(
      EpollDatagramChannelConfig socket, ReceiveSpace space, Set<ReceiveCall> allowed) {
    socket.setRecvByteBufAllocator(new ReceiveBuffers(socket, space, allowed));
  }

  private void use(ReceiveCall next) {
    boolean coalesces = next == ReceiveCall.GRO;
    if (socket.isUdpGro() != coalesces) {
      socket.setUdpGro(coalesces);
    }
    // A size for each is what makes Netty use recvmmsg.
    socket.setMaxDatagramPayloadSize(next == ReceiveCall.RECVMMSG ? UdpTransport.SLOT_BYTES : 0);
    current = next;
  }

  @Override
  @SuppressWarnings("deprecation") // The superclass names the deprecated type.
  public Handle newHandle() {
    return new ReadHandle();
  }

  /** One for the socket, on its event loop. */
  private final class ReadHandle extends MaxMessageHandle {

    private int datagramsBefore;

    /** Whether the last recvmmsg found fewer than it had room for; what comes now wakes epoll. */
    private boolean isDrained;

    @Override
    public void reset(ChannelConfig config) {
      super.reset(config);
      datagramsBefore = space.datagramsOfGroBatches();
      isDrained = false;
      if (isAuto) {
        judge();
        wakeUps++;
      }
    }

    private void judge() {
      boolean coalesces = current == ReceiveCall.GRO;
      if (reads < (coalesces ? SAMPLE_READS : READS_BETWEEN_SAMPLES)) {
        return;
      }
      if (!coalesces) {
        use(ReceiveCall.GRO);
      } else if (trains == 0 && reads >= MANY_READS * wakeUps) {
        use(ReceiveCall.RECVMMSG);
      }
      reads = 0;
      wakeUps = 0;
      trains = 0;
    }

    /** A train counts as one message, yet is as many datagrams. */
    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMoreDataSupplier) {
      return !isDrained
          && space.datagramsOfGroBatches() - datagramsBefore < MAX_DATAGRAMS_PER_BATCH
          && super.continueReading(maybeMoreDataSupplier);
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      return space.acquire(
          current == ReceiveCall.RECVMMSG ? slots * UdpTransport.SLOT_BYTES : GRO_BATCH_BYTES);
    }

    @Override
    public int guess() {
      return GRO_BATCH_BYTES;
    }

    @Override
    public void lastBytesRead(int bytes) {
      super.lastBytesRead(bytes);
      if (bytes <= 0) {
        return;
      }
      reads++;
      if (current == ReceiveCall.RECVMMSG) {
        int used = bytes / UdpTransport.SLOT_BYTES;
        isDrained = used < slots;
        adaptSlots(used);
      } else if (bytes > UdpTransport.SLOT_BYTES) {
        trains++;
      }
    }

    /** Netty counts each datagram of a recvmmsg as a whole slot. */
    private void adaptSlots(int used) {
      if (used == slots) {
        slots = Math.min(2 * slots, MAX_SLOTS);
      } else if (used < slots / 4) {
        slots = Math.max(slots / 2, MIN_SLOTS);
      }
    }
  }
}
