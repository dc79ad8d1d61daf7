package io.kcp4j.netty;

import io.kcp4j.DatagramOutput;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.socket.DatagramPacket;
import java.net.InetSocketAddress;
import java.util.Objects;

/**
 * Takes the datagrams of an event loop's sessions back to back into one contiguous buffer, and
 * writes them to their sockets as slices of it. Datagrams to one address that follow each other are
 * a run: written together, so that whatever works on many datagrams at once finds them side by
 * side.
 *
 * <p>A full buffer is sent at once. It is used again from its start when the socket has taken
 * everything, the usual case; else it is replaced, and the slices keep the old one alive as long as
 * they need it.
 */
final class Burst implements DatagramOutput {

  /** Holds the largest run that one system call could take. */
  private static final int CAPACITY_BYTES = 64 * 1024;

  private static final int MAX_RUN = 64;

  private final ByteBufAllocator allocator;
  private final int[] ends = new int[MAX_RUN];

  private ByteBuf buffer;
  private Channel socket;
  private InetSocketAddress remote;
  private int runStart;
  private int runLength;

  Burst(ByteBufAllocator allocator) {
    this.allocator = allocator;
  }

  /**
   * Says where the datagrams go that are begun from now on.
   *
   * @param remote null for a connected socket
   */
  DatagramOutput to(Channel socket, InetSocketAddress remote) {
    if (this.socket != socket || !Objects.equals(this.remote, remote)) {
      writeRun();
      this.socket = socket;
      this.remote = remote;
    }
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
    return buffer;
  }

  @Override
  public void end() {
    ends[runLength++] = buffer.writerIndex();
    if (runLength == MAX_RUN) {
      writeRun();
    }
  }

  private void writeRun() {
    int start = runStart;
    for (int i = 0; i < runLength; i++) {
      ByteBuf datagram = buffer.retainedSlice(start, ends[i] - start);
      socket.write(
          remote == null ? datagram : new DatagramPacket(datagram, remote), socket.voidPromise());
      start = ends[i];
    }
    runStart = start;
    runLength = 0;
  }

  /** Sends what has been written for {@code socket}. */
  void flush(Channel socket) {
    to(socket, null);
    send();
    this.socket = null;
  }

  private void send() {
    writeRun();
    socket.flush();
    if (buffer != null && buffer.refCnt() == 1) {
      buffer.clear();
      runStart = 0;
    }
  }

  /** Drops what has been written for {@code socket}, which is closed. */
  void drop(Channel socket) {
    if (this.socket == socket) {
      if (runLength > 0) {
        runStart = ends[runLength - 1];
        runLength = 0;
      }
      this.socket = null;
    }
  }

  /** Gives the buffer back; the next datagram takes a new one. */
  void release() {
    if (buffer != null) {
      buffer.release();
      buffer = null;
      runStart = 0;
    }
  }
}
