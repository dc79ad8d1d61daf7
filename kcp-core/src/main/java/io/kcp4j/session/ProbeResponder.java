package io.kcp4j.session;

import io.kcp4j.Segment;
import io.netty.buffer.ByteBuf;
import java.net.InetSocketAddress;

/**
 * Answers window probes of unknown peers, without keeping anything: protocol.md 8.3. The answer has
 * the size of the probe, so that nobody can use it for amplification.
 */
final class ProbeResponder {

  /** The window in the answer: the reference's default receive window. */
  private static final int WINDOW = 128;

  private final SessionTable.Handler handler;
  private final FlushQueue flushQueue;
  private final PacketOutput output;
  private final FecLayer unprotected;
  private final int maxDatagramBytes;

  ProbeResponder(
      SessionTable.Handler handler,
      FlushQueue flushQueue,
      PacketOutput output,
      FecLayer unprotected,
      int maxDatagramBytes) {
    this.handler = handler;
    this.flushQueue = flushQueue;
    this.output = output;
    this.unprotected = unprotected;
    this.maxDatagramBytes = maxDatagramBytes;
  }

  /** Writes the answer to a probe, unless the output is blocked. */
  void answer(InetSocketAddress remote, int conv) {
    if (!handler.isOutputWritable()) {
      return;
    }
    output.to(handler.output(remote), new Path(remote), unprotected, maxDatagramBytes, 0);
    ByteBuf out = output.begin(Segment.HEADER_BYTES);
    Segment.write(out, conv, Segment.WINS, 0, WINDOW, 0, 0, 0, 0);
    output.end();
    flushQueue.onOutput();
  }
}
