package io.kcp4j.netty.internal.udp;

import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.wire.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.Arrays;

/**
 * Collects the packets of an event loop's sessions in one contiguous buffer, seals all of them at
 * once, and writes them to their socket as slices of the buffer. Consecutive packets of one size to
 * one peer, of which the last may be shorter, are one slice if the socket can send GSO batches.
 *
 * <p>A full buffer is sent at once. It is reused from its start if the socket has sent everything,
 * the usual case. Otherwise it is replaced, and released with its last slice.
 *
 * <p>Datagrams that are complete in a session's chunk are not copied: they are sent as slices of
 * the chunk. Used by the event loop.
 */
public final class UdpBatchWriter implements DatagramOutput {

  /** Holds four of the largest GSO batches. */
  private static final int CAPACITY_BYTES = 256 * 1024;

  /** The most bytes of chunks between two flushes: more than a window of 1024 segments. */
  private static final int MAX_UNFLUSHED_BYTES = 2 * 1024 * 1024;

  /** The largest UDP payload over IPv4, which also limits a GSO batch. */
  private static final int MAX_BATCH_BYTES = 65_507;

  private final ByteBufAllocator allocator;

  /** The packets in the buffer for {@link #socket} that are not sealed yet. */
  private final PacketBatch packets = new PacketBatch();

  /** The remote address of each of them; null for a connected socket. */
  private InetSocketAddress[] remotes = new InetSocketAddress[64];

  private ByteBuf buffer;
  private DatagramWriter socket;
  private PacketCipher cipher;
  private InetSocketAddress remote;

  /** The index at which the next packet begins. */
  private int start;

  /** The bytes of chunks written to {@link #socket} since it was flushed. */
  private int unflushedBytes;

  /** Makes a writer, which allocates its buffer with the first packet. */
  public UdpBatchWriter(ByteBufAllocator allocator) {
    this.allocator = allocator;
  }

  /**
   * Sets the socket, the cipher and the remote address of the packets that are begun next.
   *
   * @param remote null for a connected socket
   */
  public DatagramOutput to(DatagramWriter socket, PacketCipher cipher, InetSocketAddress remote) {
    if (this.socket != socket || this.cipher != cipher) {
      write();
      this.socket = socket;
      this.cipher = cipher;
      unflushedBytes = 0;
    }
    this.remote = remote;
    return this;
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    if (buffer != null && buffer.writableBytes() < maxBytes) {
      send();
    }
    if (buffer == null || buffer.writableBytes() < maxBytes) {
      release();
      buffer = allocator.directBuffer(Math.max(CAPACITY_BYTES, maxBytes));
    }
    if (packets.size() == 0) {
      packets.reset(buffer);
    }
    return buffer.writerIndex(start); // Drops a packet that was begun and not ended.
  }

  @Override
  public void end() {
    if (packets.size() == remotes.length) {
      remotes = Arrays.copyOf(remotes, 2 * remotes.length);
    }
    remotes[packets.size()] = remote;
    packets.add(start, buffer.writerIndex());
    start = buffer.writerIndex();
  }

  @Override
  public void send(ByteBuf data, int index, int bytes, int datagramBytes) {
    write();
    int most = datagramBytes * maxSegments(datagramBytes, remote);
    for (int at = index, end = index + bytes, taken; at < end; at += taken) {
      taken = Math.min(most, end - at);
      socket.write(data.retainedSlice(at, taken), datagramBytes, remote);
      unflushedBytes += taken;
      if (unflushedBytes > MAX_UNFLUSHED_BYTES - MAX_BATCH_BYTES) {
        unflushedBytes = 0;
        socket.flush();
      }
    }
  }

  /** Seals the packets and writes them to the socket. */
  private void write() {
    if (packets.size() == 0) {
      return;
    }
    try {
      cipher.seal(packets);
      for (int i = 0; i < packets.size(); ) {
        int end = endOfBatch(i);
        int first = packets.start(i);
        ByteBuf data = buffer.retainedSlice(first, packets.end(end - 1) - first);
        socket.write(data, bytes(i), remotes[i]);
        i = end;
      }
    } finally { // What was not sealed is lost: some of it may have been.
      Arrays.fill(remotes, 0, packets.size(), null);
      packets.reset(buffer);
    }
  }

  /** The end of the packets that form one GSO batch with the one at {@code first}. */
  @SuppressWarnings("ReferenceEquality") // A session's packets share one address.
  private int endOfBatch(int first) {
    int size = bytes(first);
    int most = maxSegments(size, remotes[first]);
    int last = Math.min(packets.size(), first + most);
    int end = first;
    do {
      end++;
    } while (end < last
        && remotes[end] == remotes[first]
        && bytes(end) <= size
        && bytes(end - 1) == size);
    return end;
  }

  private int bytes(int packet) {
    return packets.end(packet) - packets.start(packet);
  }

  private int maxSegments(int datagramBytes, InetSocketAddress to) {
    return Math.min(socket.maxSegments(to), MAX_BATCH_BYTES / datagramBytes);
  }

  /** Sends all packets that were written for {@code socket}. */
  public void flush(DatagramWriter socket) {
    to(socket, cipher, null);
    send();
    this.socket = null;
    cipher = null;
  }

  private void send() {
    write();
    unflushedBytes = 0;
    socket.flush();
    if (buffer != null && buffer.refCnt() == 1) {
      buffer.clear();
      start = 0;
    }
  }

  /** Drops the packets that were written for {@code socket}, which is closed. */
  public void drop(DatagramWriter socket) {
    if (this.socket == socket) {
      Arrays.fill(remotes, 0, packets.size(), null);
      packets.reset(buffer);
      this.socket = null;
      cipher = null;
    }
  }

  /** Releases the buffer; the next packet allocates a new one. */
  public void release() {
    if (buffer != null) {
      packets.reset(null);
      buffer.release();
      buffer = null;
      start = 0;
    }
  }
}
