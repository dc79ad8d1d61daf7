package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.KcpCounter;
import io.kcp4j.internal.arq.KcpContext;
import io.kcp4j.internal.session.SessionTable;
import io.kcp4j.netty.internal.udp.ReceiveSpace;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.ReferenceCountUtil;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongConsumer;

/**
 * Passes the datagrams that an endpoint's socket receives to its session table, in batches. The
 * sessions are flushed after the last datagram of a batch. Also passes the packets that other
 * sockets of the port have received. Used by the endpoint's event loop, unless noted.
 */
public final class DatagramReceiver extends ChannelInboundHandlerAdapter {

  /** The most pending packets of other sockets; more are dropped, as by a full socket buffer. */
  private static final int MAX_FORWARDED = 1024;

  private final KcpEndpoint endpoint;
  private final EventLoopContext loop;
  private final SessionTable table;
  private final KcpContext context;

  /** The packets that other sockets have forwarded and the event loop has not received. */
  private final AtomicInteger forwarded = new AtomicInteger();

  private boolean inBatch;

  /** Those of this batch. */
  private int datagrams;

  private final ReadModeration moderation;

  DatagramReceiver(
      KcpEndpoint endpoint,
      EventLoopContext loop,
      SessionTable table,
      ReadModeration moderation,
      KcpContext context) {
    this.endpoint = endpoint;
    this.loop = loop;
    this.table = table;
    this.moderation = moderation;
    this.context = context;
  }

  @Override
  public void channelRead(ChannelHandlerContext ctx, Object msg) {
    DatagramPacket packet = (DatagramPacket) msg;
    if (packet.sender().getPort() == 0) {
      context.total().add(KcpCounter.INVALID_SOURCE, 1); // No answer could be sent to that port.
      packet.release();
      return;
    }
    int datagramBytes = ReceiveSpace.datagramBytes(packet.content());
    ByteBuf content = loop.receiveSpace().locate(packet.content());
    int end = content.writerIndex();
    int start = content.readerIndex();
    beginBatch();
    // Not once a batch: what arrives during a batch may belong to it. An ACK that was taken for
    // older than it is would give too short a round trip.
    loop.readNowUs();
    try {
      do {
        int next = Math.min(start + datagramBytes, end);
        datagrams++;
        table.receive(packet.sender(), content.setIndex(start, next), loop.nowUs());
        start = next;
      } while (start < end);
    } finally {
      packet.release();
    }
  }

  @Override
  public void channelReadComplete(ChannelHandlerContext ctx) {
    if (inBatch) {
      endBatch();
    }
  }

  /**
   * Copies a packet of this endpoint that another socket of its port has received, and that begins
   * with its nonce, for the endpoint's event loop to receive; or drops it. From any event loop.
   */
  void forward(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    if (forwarded.incrementAndGet() > MAX_FORWARDED) {
      forwarded.decrementAndGet();
      return;
    }
    boolean isForwarded = false;
    ByteBuf copy = null;
    try {
      copy = context.allocator().buffer(packet.readableBytes());
      isForwarded = execute(remote, copy.writeBytes(packet), nonceBytes);
    } finally {
      if (!isForwarded) {
        forwarded.decrementAndGet();
        ReferenceCountUtil.release(copy);
      }
    }
  }

  private boolean execute(InetSocketAddress remote, ByteBuf copy, int nonceBytes) {
    return endpoint.execute(() -> receiveForwarded(remote, copy, nonceBytes));
  }

  private void receiveForwarded(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    forwarded.decrementAndGet();
    try {
      if (endpoint.isOpen()) {
        receiveOpened(remote, packet, nonceBytes);
      }
    } finally {
      packet.release();
    }
  }

  private void receiveOpened(InetSocketAddress remote, ByteBuf packet, int nonceBytes) {
    beginBatch();
    try {
      table.receiveOpened(remote, packet, nonceBytes, loop.readNowUs());
    } finally {
      endBatch();
    }
  }

  private void beginBatch() {
    if (!inBatch) {
      inBatch = true;
      datagrams = 0;
    }
  }

  private void endBatch() {
    loop.received(datagrams);
    moderation.endBatch(datagrams, table.packetsOfSessions(), loop.nowUs());
    try {
      endpoint.batchRead();
    } finally {
      endTableBatch(loop.nowUs());
    }
  }

  /** Ends the batch of the table. An exception of one session does not stop the others. */
  void endTableBatch(long nowUs) {
    try {
      table.endBatch(nowUs);
    } finally {
      inBatch = false;
      loop.schedule();
    }
  }

  /** The time, in microseconds; within a batch, when the clock was last read. */
  long nowUs() {
    return inBatch ? loop.nowUs() : loop.readNowUs();
  }

  @Override
  public void channelWritabilityChanged(ChannelHandlerContext ctx) {
    endpoint.writabilityChanged();
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
    endpoint.socketFailed(cause);
  }

  /**
   * Makes a flood cost less, as interrupt moderation does in a network adapter: while most of the
   * datagrams that a socket receives belong to no session, the socket pauses after each small
   * batch. Without that, an event loop that keeps up with the flood is woken up for every few
   * datagrams, and spends most of its time on system calls. Sessions wait for {@value #PAUSE_US}
   * microseconds at most. Used by the endpoint's event loop.
   */
  static final class ReadModeration {

    /** How long a pause lasts. */
    static final int PAUSE_US = 250;

    /** It is decided once in this time whether there is a flood. */
    static final int PERIOD_US = 50_000;

    /** The fewest datagrams of no session in a period that are a flood: 10,000 a second. */
    static final int FLOOD = 500;

    /** More are received at once without a pause. */
    static final int SMALL_BATCH = 32;

    private final LongConsumer pause;

    private boolean isFlooded;

    // Of this period:
    private long startUs;
    private long datagrams;
    private long packetsOfSessionsBefore;

    /**
     * Makes one.
     *
     * @param pause pauses reading; its argument is the time in microseconds
     */
    ReadModeration(LongConsumer pause) {
      this.pause = pause;
    }

    /**
     * A batch has been received.
     *
     * @param batch the number of its datagrams
     * @param packetsOfSessions the number of packets that were for sessions, up to now
     */
    void endBatch(int batch, long packetsOfSessions, long nowUs) {
      datagrams += batch;
      if (nowUs - startUs >= PERIOD_US) {
        long wanted = packetsOfSessions - packetsOfSessionsBefore;
        long unwanted = datagrams - wanted;
        isFlooded = unwanted >= FLOOD && unwanted > wanted && nowUs - startUs < 2 * PERIOD_US;
        startUs = nowUs;
        datagrams = 0;
        packetsOfSessionsBefore = packetsOfSessions;
      }
      if (isFlooded && batch < SMALL_BATCH) {
        pause.accept(PAUSE_US);
      }
    }
  }
}
