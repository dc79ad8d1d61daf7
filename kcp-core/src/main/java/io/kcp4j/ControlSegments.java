package io.kcp4j;

/**
 * Writes the segments with which each flush begins: acknowledgements, a window probe and a window
 * update, as far as they are pending.
 */
final class ControlSegments {

  private final ReceiveBuffer receiving;
  private final AdvertisedWindow advertised;
  private final WindowProbe probe;
  private final Transmitter transmitter;
  private final SegmentWriter writer;
  private final KcpCounters counters;

  ControlSegments(
      ReceiveBuffer receiving,
      AdvertisedWindow advertised,
      WindowProbe probe,
      Transmitter transmitter,
      SegmentWriter writer,
      KcpCounters counters) {
    this.receiving = receiving;
    this.advertised = advertised;
    this.probe = probe;
    this.transmitter = transmitter;
    this.writer = writer;
    this.counters = counters;
  }

  /** Begins a flush whose segments carry the timestamp {@code ts}; see {@link SegmentWriter}. */
  void begin(DatagramOutput output, int mtuBytes, int overheadBytes, int ts, long nowUs) {
    int wnd = advertised.beginFlush();
    writer.begin(output, nowUs, mtuBytes, overheadBytes, wnd, receiving.next());
    receiving.flushAcks(nowUs, writer);
    probe.update(transmitter.isRemoteWindowClosed(), nowUs);
    if (probe.take(nowUs)) {
      writer.control(Segment.WASK, ts, 0);
      counters.add(KcpCounter.PROBES_OUT, 1);
    }
    if (advertised.takeUpdate()) {
      writer.control(Segment.WINS, ts, 0);
    }
  }
}
