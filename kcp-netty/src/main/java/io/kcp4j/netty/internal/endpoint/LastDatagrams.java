package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.internal.crypto.PacketBatch;
import io.kcp4j.internal.crypto.PacketCipher;
import io.kcp4j.internal.wire.DatagramOutput;
import io.kcp4j.netty.internal.udp.UdpSocket;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;

/**
 * Sends what the sessions of a socket have to say when their event loop ends. Netty closes the
 * sockets of such an event loop before anybody learns of it, so these datagrams leave from another
 * one, which has the same address for a moment. Used by the event loop.
 */
final class LastDatagrams implements DatagramOutput, AutoCloseable {

  private static final InternalLogger logger =
      InternalLoggerFactory.getInstance(LastDatagrams.class);

  private final PacketCipher cipher;
  private final DatagramChannel socket;
  private final PacketBatch packet = new PacketBatch();
  private final ByteBuf buffer = Unpooled.directBuffer();
  private InetSocketAddress remote;

  private LastDatagrams(PacketCipher cipher, DatagramChannel socket) {
    this.cipher = cipher;
    this.socket = socket;
  }

  /**
   * Opens the socket.
   *
   * @param closed the one that has closed
   * @return null if there is none: the peers are not told
   */
  static LastDatagrams open(UdpSocket closed, PacketCipher cipher) {
    try {
      return new LastDatagrams(cipher, closed.reopen());
    } catch (IOException | RuntimeException e) {
      logger.debug("{} cannot be bound again: peers are not told of the end", closed, e);
      return null;
    }
  }

  /** Sets to where the datagrams go that are begun next. */
  DatagramOutput to(InetSocketAddress remote) {
    this.remote = remote;
    return this;
  }

  @Override
  public ByteBuf begin(int maxBytes) {
    return buffer.clear().ensureWritable(maxBytes);
  }

  @Override
  public void end() {
    packet.reset(buffer);
    packet.add(0, buffer.writerIndex());
    cipher.seal(packet);
    try {
      socket.send(buffer.nioBuffer(), remote);
    } catch (IOException e) {
      logger.debug("{} was not told of the end", remote, e); // As if it had been lost.
    }
  }

  @Override
  public void close() {
    buffer.release();
    try {
      socket.close();
    } catch (IOException e) {
      logger.debug("a socket could not be closed", e);
    }
  }
}
