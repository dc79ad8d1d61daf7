package io.kcp4j.netty.internal.udp;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelException;
import io.netty.channel.DefaultMaxMessagesRecvByteBufAllocator;
import io.netty.channel.epoll.EpollDatagramChannelConfig;
import io.netty.util.UncheckedBooleanSupplier;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;

/**
 * Allocates the buffers of an epoll socket for the system call that it receives by: recvmsg with
 * UDP_GRO, or recvmmsg. Chooses between them if GRO is allowed.
 *
 * <p>With UDP_GRO one read returns a GRO batch, datagrams of one peer that the system has
 * coalesced; with recvmmsg it returns the pending datagrams of any peers. A sample of reads without
 * a GRO batch, several reads at each wake-up, ends the use of GRO. After a while another sample is
 * taken. GRO batches that are pending in the socket when the use of GRO ends are lost; after a
 * sample without any that is improbable.
 */
final class ReceiveBuffers extends DefaultMaxMessagesRecvByteBufAllocator {

  /** The most datagrams that one recvmmsg takes in. */
  static final int MAX_SLOTS = 64;

  /** The fewest that a buffer has room for: each slot costs time even if it is not used. */
  private static final int MIN_SLOTS = 8;

  /** The size of the largest GRO batch. */
  static final int GRO_BATCH_BYTES = 64 * 1024;

  /** Limits how long responses wait for the end of a batch. */
  private static final int MAX_DATAGRAMS_PER_BATCH = 128;

  private static final int SAMPLE_READS = 512;
  private static final int READS_BETWEEN_SAMPLES = 8 * SAMPLE_READS;

  /** The average number of reads at a wake-up from which recvmmsg is faster. */
  private static final int MANY_READS = 4;

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(ReceiveBuffers.class);

  private final EpollDatagramChannelConfig socket;
  private final ReceiveSpace space;
  private final boolean isAuto;

  /** Whether the socket receives by recvmmsg. If not, it receives by recvmsg. */
  private boolean isRecvmmsg;

  /** The number of datagrams that the next recvmmsg has room for; adapts to the last ones. */
  private int slots = MIN_SLOTS;

  // Since the last choice of a call:
  private int reads;
  private int wakeUps;
  private int groBatches;

  private ReceiveBuffers(
      EpollDatagramChannelConfig socket, ReceiveSpace space, boolean isGroAllowed) {
    super(MAX_DATAGRAMS_PER_BATCH);
    this.socket = socket;
    this.space = space;
    boolean isGroAvailable = isGroAllowed;
    try {
      use(isGroAllowed);
    } catch (ChannelException e) {
      logger.debug("UDP_GRO is not available, as on Linux before 5.0", e);
      isGroAvailable = false;
      use(false);
    }
    isAuto = isGroAvailable;
  }

  /** Makes a socket receive into {@code space}; see {@link UdpTransport#receive}. */
  static void install(EpollDatagramChannelConfig socket, ReceiveSpace space, boolean isGroAllowed) {
    socket.setRecvByteBufAllocator(new ReceiveBuffers(socket, space, isGroAllowed));
  }

  /** Makes the socket receive by recvmsg with UDP_GRO, or else by recvmmsg. */
  private void use(boolean gro) {
    if (socket.isUdpGro() != gro) {
      socket.setUdpGro(gro);
    }
    // Netty uses recvmmsg if the maximum size of a datagram is set.
    socket.setMaxDatagramPayloadSize(gro ? 0 : UdpTransport.SLOT_BYTES);
    isRecvmmsg = !gro;
  }

  @Override
  @SuppressWarnings("deprecation") // The superclass names the deprecated type.
  public Handle newHandle() {
    return new ReadHandle();
  }

  /** The handle of the socket, used by its event loop. */
  private final class ReadHandle extends MaxMessageHandle {

    private int datagramsBefore;

    /** Whether the last recvmmsg was not full: datagrams that arrive later wake the event loop. */
    private boolean isDrained;

    @Override
    public void reset(ChannelConfig config) {
      super.reset(config);
      datagramsBefore = space.datagramsOfGroBatches();
      isDrained = false;
      if (isAuto) {
        chooseCall();
        wakeUps++;
      }
    }

    private void chooseCall() {
      if (reads < (isRecvmmsg ? READS_BETWEEN_SAMPLES : SAMPLE_READS)) {
        return;
      }
      if (isRecvmmsg) {
        use(true);
      } else if (groBatches == 0 && reads >= MANY_READS * wakeUps) {
        use(false);
      }
      reads = 0;
      wakeUps = 0;
      groBatches = 0;
    }

    /** A GRO batch counts as one message, but is many datagrams. */
    @Override
    public boolean continueReading(UncheckedBooleanSupplier maybeMoreDataSupplier) {
      return !isDrained
          && space.datagramsOfGroBatches() - datagramsBefore < MAX_DATAGRAMS_PER_BATCH
          && super.continueReading(maybeMoreDataSupplier);
    }

    @Override
    public ByteBuf allocate(ByteBufAllocator allocator) {
      return space.acquire(isRecvmmsg ? slots * UdpTransport.SLOT_BYTES : GRO_BATCH_BYTES);
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
      if (isRecvmmsg) {
        int used = bytes / UdpTransport.SLOT_BYTES;
        isDrained = used < slots;
        adaptSlots(used);
      } else if (bytes > UdpTransport.SLOT_BYTES) {
        groBatches++;
      }
    }

    /** Netty reports the bytes of whole slots, one for each datagram of a recvmmsg. */
    private void adaptSlots(int used) {
      if (used == slots) {
        slots = Math.min(2 * slots, MAX_SLOTS);
      } else if (used < slots / 4) {
        slots = Math.max(slots / 2, MIN_SLOTS);
      }
    }
  }
}
