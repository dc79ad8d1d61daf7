package io.kcp4j.internal.arq;

import io.kcp4j.internal.receive.UnorderedReceiveBuffer;
import io.kcp4j.internal.wire.SegmentSink;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/** The sink of a session, for tests that pass the payload of segments to it without the ARQ. */
public final class SinkAccess {

  private static final VarHandle SINK = sink();

  private SinkAccess() {}

  private static VarHandle sink() {
    try {
      Class<?> owner = UnorderedReceiveBuffer.class;
      return MethodHandles.privateLookupIn(owner, MethodHandles.lookup())
          .findVarHandle(owner, "sink", SegmentSink.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  /** The sink that was set last. */
  public static SegmentSink of(Kcp kcp) {
    return (SegmentSink) SINK.get((UnorderedReceiveBuffer) kcp.receiver);
  }
}
