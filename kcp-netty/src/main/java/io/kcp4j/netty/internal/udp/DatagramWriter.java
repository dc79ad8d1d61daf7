package io.kcp4j.netty.internal.udp;

import io.kcp4j.KcpCounter;
import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.DefaultChannelPromise;
import io.netty.channel.socket.DatagramPacket;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.function.LongSupplier;

/**
 * Writes datagrams to one socket: several of one size to one address as a GSO batch, a message that
 * the system segments (UDP_SEGMENT), if it supports that.
 *
 * <p>The system refuses a batch whose datagrams exceed the path MTU to their address, where it
 * would fragment single datagrams: with EMSGSIZE, on older kernels with EINVAL. It refuses every
 * batch with EIO if the device cannot segment. So a batch is retained until its write has
 * completed. A refused batch is sent as single datagrams at once. So are later ones: to that
 * address for ten minutes, and after EIO to all addresses until the socket closes.
 *
 * <p>Used by the socket's event loop.
 */
public final class DatagramWriter {

  /**
   * Linux forgets a path MTU that it has learned after ten minutes (net.ipv4.route.mtu_expires).
   */
  static final int REFUSED_US = 600_000_000;

  /** The most datagrams of a batch that Linux takes. */
  static final int MAX_SEGMENTS = 64;

  /** Beyond this number the oldest is forgotten: another refusal costs one system call. */
  static final int MAX_REFUSED = 4096;

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(DatagramWriter.class);

  private final Channel socket;
  private final KcpCounters counters;
  private final int maxSegments;
  private final LongSupplier nowUs;
  private final BatchPromise batchPromise;

  /** The batches whose writes have not completed. They complete in this order. */
  private final Queue<DatagramPacket> unanswered = new ArrayDeque<>();

  /**
   * The addresses to which no batches are sent, each with the time at which that ends, the earliest
   * first.
   */
  private final Map<Recipient, Long> refusedUntilUs = new LinkedHashMap<>();

  private boolean isRefusedByDevice;

  /**
   * A remote address; null if the socket is connected. Comparable, so that the hash map stays fast
   * with addresses that somebody has chosen to collide: it keeps them in a tree.
   */
  private record Recipient(InetSocketAddress remote) implements Comparable<Recipient> {

    private static final byte[] NONE = {};

    private byte[] address() {
      return remote == null || remote.isUnresolved() ? NONE : remote.getAddress().getAddress();
    }

    private int port() {
      return remote == null ? 0 : remote.getPort();
    }

    @Override
    public int compareTo(Recipient other) {
      int order = Integer.compare(port(), other.port());
      return order != 0 ? order : Arrays.compare(address(), other.address());
    }
  }

  /**
   * Makes a writer.
   *
   * @param counters where refused batches are counted
   * @param maxSegments the most datagrams of a batch: 1, for no batches, to {@link #MAX_SEGMENTS}
   * @param nowUs the time, in microseconds
   */
  DatagramWriter(Channel socket, KcpCounters counters, int maxSegments, LongSupplier nowUs) {
    this.socket = socket;
    this.counters = counters;
    this.maxSegments = maxSegments;
    this.nowUs = nowUs;
    batchPromise = new BatchPromise(socket);
  }

  /**
   * The most datagrams that one {@link #write} to {@code remote} may have.
   *
   * @param remote null for a connected socket
   */
  int maxSegments(InetSocketAddress remote) {
    boolean isSingle = isRefusedByDevice || (!refusedUntilUs.isEmpty() && isRefused(remote));
    return isSingle ? 1 : maxSegments;
  }

  private boolean isRefused(InetSocketAddress remote) {
    Recipient recipient = new Recipient(remote);
    Long untilUs = refusedUntilUs.get(recipient);
    if (untilUs != null && nowUs.getAsLong() - untilUs >= 0) {
      refusedUntilUs.remove(recipient);
      return false;
    }
    return untilUs != null;
  }

  /**
   * Writes contiguous datagrams; they are sent with the next {@link #flush}.
   *
   * @param data the datagrams; owned by the writer from then on
   * @param datagramBytes the size of each but the last, which may be shorter
   * @param remote null for a connected socket
   */
  void write(ByteBuf data, int datagramBytes, InetSocketAddress remote) {
    if (data.readableBytes() <= datagramBytes) {
      Object datagram = remote == null ? data : new DatagramPacket(data, remote);
      socket.write(datagram, socket.voidPromise());
      return;
    }
    DatagramPacket batch = (DatagramPacket) UdpTransport.segmented(data, datagramBytes, remote);
    unanswered.add(batch.retain());
    socket.write(batch, batchPromise);
  }

  /** Sends everything that was written. */
  void flush() {
    socket.flush();
  }

  private void refused(DatagramPacket batch, Throwable cause) {
    counters.add(KcpCounter.GSO_REFUSED, 1);
    if (UdpTransport.isDeviceRefusal(cause)) {
      if (!isRefusedByDevice) {
        logger.info("{} its device does not segment datagrams (GSO): {}", socket, cause.toString());
      }
      isRefusedByDevice = true;
    } else {
      logger.debug("{} no GSO batches to {}: {}", socket, batch.recipient(), cause.toString());
      refuse(batch.recipient());
    }
    writeSingly(batch);
  }

  /** Stops sending batches to {@code remote} for ten minutes. */
  void refuse(InetSocketAddress remote) {
    Recipient recipient = new Recipient(remote);
    refusedUntilUs.remove(recipient); // so that it moves to the end
    if (refusedUntilUs.size() == MAX_REFUSED) {
      Iterator<Recipient> oldest = refusedUntilUs.keySet().iterator();
      oldest.next();
      oldest.remove();
    }
    refusedUntilUs.put(recipient, nowUs.getAsLong() + REFUSED_US);
  }

  private void writeSingly(DatagramPacket batch) {
    ByteBuf data = batch.content();
    int end = data.writerIndex();
    int datagramBytes = UdpTransport.segmentBytes(batch);
    for (int at = data.readerIndex(), bytes; at < end; at += bytes) {
      bytes = Math.min(datagramBytes, end - at);
      write(data.retainedSlice(at, bytes), bytes, batch.recipient());
    }
    flush();
  }

  /**
   * The promise of all batches: it is never done, so that one object serves every write, and is
   * called when each completes. Other failures are fired through the pipeline, as void promises do.
   */
  private final class BatchPromise extends DefaultChannelPromise {

    BatchPromise(Channel socket) {
      super(socket);
    }

    @Override
    public boolean trySuccess() {
      return trySuccess(null);
    }

    @Override
    public boolean trySuccess(Void result) {
      unanswered.remove().release();
      return true;
    }

    @Override
    public boolean tryFailure(Throwable cause) {
      DatagramPacket batch = unanswered.remove();
      try {
        if (UdpTransport.isGsoRefusal(cause)) {
          refused(batch, cause);
        } else if (socket.isRegistered()) {
          socket.pipeline().fireExceptionCaught(cause);
        }
      } finally {
        batch.release();
      }
      return true;
    }
  }
}
