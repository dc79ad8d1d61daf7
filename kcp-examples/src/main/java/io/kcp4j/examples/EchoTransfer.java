package io.kcp4j.examples;

import io.kcp4j.netty.KcpChannel;
import io.netty.buffer.ByteBuf;
import java.io.IOException;
import java.io.InputStream;

/** Sends all bytes of a source to an echo server and waits until all of them are echoed. */
final class EchoTransfer {

  private final KcpChannel channel;
  private final EchoCheck check;
  private final long startedAtNs = System.nanoTime();

  /**
   * Makes a transfer.
   *
   * @param check the handler in the channel's pipeline
   */
  EchoTransfer(KcpChannel channel, EchoCheck check) {
    this.channel = channel;
    this.check = check;
  }

  /**
   * Returns when every byte has been echoed correctly; throws the failure otherwise. Another thread
   * reads the source, because a read of the standard input cannot be interrupted.
   */
  void run(InputStream source, int chunkBytes) throws InterruptedException {
    Thread reader = new Thread(() -> send(source, chunkBytes), "echo-source");
    reader.setDaemon(true);
    reader.start();
    try {
      check.done().sync();
    } finally {
      reader.interrupt();
    }
  }

  /** A write completes when the session has accepted it: the source is read no faster than sent. */
  private void send(InputStream source, int chunkBytes) {
    try {
      for (ByteBuf chunk; (chunk = next(source, chunkBytes)) != null; ) {
        channel.writeAndFlush(chunk).sync();
      }
      channel.eventLoop().execute(check::allWritten);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (Exception e) {
      channel.pipeline().fireExceptionCaught(e);
    }
  }

  private ByteBuf next(InputStream source, int chunkBytes) throws IOException {
    ByteBuf chunk = channel.alloc().directBuffer(chunkBytes);
    try {
      return chunk.writeBytes(source, chunkBytes) > 0 ? chunk.retain() : null;
    } finally {
      chunk.release();
    }
  }

  /** The elapsed time. */
  double seconds() {
    return (System.nanoTime() - startedAtNs) / 1e9;
  }
}
