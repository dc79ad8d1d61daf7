package io.kcp4j.internal.arq;

import io.kcp4j.internal.wire.Segment;
import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;

/** A segment as it left a {@link Kcp}. */
public record SentSegment(
    int conv, int cmd, int frg, int wnd, int ts, int sn, int una, ByteBuf payload) {

  /** Takes a datagram apart. */
  public static List<SentSegment> in(ByteBuf datagram) {
    List<SentSegment> segments = new ArrayList<>();
    int index = datagram.readerIndex();
    while (index < datagram.writerIndex()) {
      int length = Segment.length(datagram, index);
      segments.add(
          new SentSegment(
              Segment.conv(datagram, index),
              Segment.cmd(datagram, index),
              Segment.frg(datagram, index),
              Segment.wnd(datagram, index),
              Segment.ts(datagram, index),
              Segment.sn(datagram, index),
              Segment.una(datagram, index),
              datagram.slice(index + Segment.HEADER_BYTES, length)));
      index += Segment.HEADER_BYTES + length;
    }
    return segments;
  }
}
