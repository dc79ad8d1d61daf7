package io.kcp4j.netty.udp;

import io.kcp4j.DatagramOutput;
import io.kcp4j.crypto.PacketBatch;
import io.kcp4j.crypto.PacketCipher;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.net.InetSocketAddress;
import java.util.Arrays;

/**
 * Takes the packets of an event loop's sessions back to back into one contiguous buffer, seals them
 * there all at once, and writes them to their socket as slices of it: a run of packets of one size
 * to one peer, of which the last may be shorter, as one slice, where the socket can cut it.
 *
 * <p>A full buffer is sent at once. It is used again from its start when the socket has taken
 * everything, the usual case; else it is replaced, and the slices keep the old one alive as long as
 * they need it.
 *
 * <p>What stands ready in a session's chunk leaves from there: such a run is a slice of the chunk.
 */
public final class UdpBatchWriter implements DatagramOutput {

  /** Holds four of the longest runs. */
  private static final int CAPACITY_BYTES = 256 * 1024;

  /** The most that chunks give to one system call: more than a window of 1024 segments. */
  private static final int MAX_UNFLUSHED_BYTES = 2 * 1024 * 1024;

  /** The largest UDP payload over IPv4, which limits the run before it is cut. */
  private static final int MAX_RUN_BYTES = 65_507;

  private final ByteBufAllocator allocator;

  /** What has been written into the buffer for {@link #socket}, and is not sealed yet. */
  private final PacketBatch packets = new PacketBatch();

  /** Where each of them goes; null for a connected socket. */
  private InetSocketAddress[] remotes = new InetSocketAddress[64];

  private ByteBuf buffer;
  private DatagramWriter socket;
  private PacketCipher cipher;
  private InetSocketAddress remote;

  /** Where the next packet begins. */
  private int start;

  /** What chunks have given to {@link #socket} since it was flushed. */
  private int unflushedBytes;

  /** Makes a writer, which takes its buffer from {@code allocator} with the first packet. */
  public UdpBatchWriter(ByteBufAllocator allocator) {
    this.allocator = allocator;
  }

  /**
   * Says where the packets go that are begun from now on, and what seals them.
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
    return buffer.writerIndex(start); // A packet that was begun and never ended goes nowhere.
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
    int most = datagramBytes * mostOfOneRun(datagramBytes, remote);
    for (int at = index, end = index + bytes, taken; at < end; at += taken) {
      taken = Math.min(most, end - at);
      socket.write(data.retainedSlice(at, taken), datagramBytes, remote);
      unflushedBytes += taken;
      if (unflushedBytes > MAX_UNFLUSHED_BYTES - MAX_RUN_BYTES) {
        unflushedBytes = 0;
        socket.flush();
      }
    }
  }

  /** Seals what there is and hands it to the socket. */
  private void write() {
    if (packets.size() == 0) {
      return;
    }
    try {
      cipher.seal(packets);
      for (int i = 0; i < packets.size(); ) {
        int end = endOfRun(i);
        int first = packets.start(i);
        ByteBuf data = buffer.retainedSlice(first, packets.end(end - 1) - first);
        socket.write(data, bytes(i), remotes[i]);
        i = end;
      }
    } finally { // What could not be sealed is lost; sealing it again would spoil it.
      Arrays.fill(remotes, 0, packets.size(), null);
      packets.reset(buffer);
    }
  }

  /** Where the packets end that can leave together with the one at {@code first}. */
  @SuppressWarnings("ReferenceEquality") // A session's packets share one address.
  private int endOfRun(int first) {
    int size = bytes(first);
    int most = mostOfOneRun(size, remotes[first]);
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

  private int mostOfOneRun(int datagramBytes, InetSocketAddress to) {
    return Math.min(socket.maxSegments(to), MAX_RUN_BYTES / datagramBytes);
  }

  /** Sends what has been written for {@code socket}. */
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

  /** Drops what has been written for {@code socket}, which is closed. */
  public void drop(DatagramWriter socket) {
    if (this.socket == socket) {
      Arrays.fill(remotes, 0, packets.size(), null);
      packets.reset(buffer);
      this.socket = null;
      cipher = null;
    }
  }

  /** Gives the buffer back; the next packet takes a new one. */
  public void release() {
    if (buffer != null) {
      packets.reset(null);
      buffer.release();
      buffer = null;
      start = 0;
    }
  }
}
