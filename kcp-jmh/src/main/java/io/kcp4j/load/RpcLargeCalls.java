package io.kcp4j.load;

import io.grpc.CallOptions;
import io.grpc.ManagedChannel;
import io.grpc.stub.ClientCalls;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Times large unary calls: the first and the second call of a fresh session, and those of a session
 * that has made many small calls, one after another. An untimed session comes first.
 */
final class RpcLargeCalls implements LoadReport {

  private final Supplier<ManagedChannel> sessions;
  private final byte[] small;
  private final byte[] large;
  private final int smallCalls;
  private volatile String times = "";

  RpcLargeCalls(
      Supplier<ManagedChannel> sessions, int messageBytes, int smallCalls, int largeBytes) {
    this.sessions = sessions;
    small = new byte[messageBytes];
    large = new byte[largeBytes];
    this.smallCalls = smallCalls;
  }

  /** Makes all calls. */
  void run() {
    timeLargeCalls(0);
    double[] fresh = timeLargeCalls(0);
    double[] used = timeLargeCalls(smallCalls);
    times =
        String.format(
            Locale.ROOT,
            "\"fresh_ms\":[%.1f,%.1f],\"used_ms\":[%.1f,%.1f]",
            fresh[0],
            fresh[1],
            used[0],
            used[1]);
  }

  private double[] timeLargeCalls(int callsBefore) {
    ManagedChannel session = sessions.get();
    try {
      call(session, small); // It connects.
      for (int i = 0; i < callsBefore; i++) {
        call(session, small);
      }
      return new double[] {timeLargeCall(session), timeLargeCall(session)};
    } finally {
      session.shutdownNow();
    }
  }

  private double timeLargeCall(ManagedChannel session) {
    long beginNs = System.nanoTime();
    call(session, large);
    return (System.nanoTime() - beginNs) / (double) TimeUnit.MILLISECONDS.toNanos(1);
  }

  private static void call(ManagedChannel session, byte[] request) {
    byte[] response =
        ClientCalls.blockingUnaryCall(session, RpcEcho.UNARY, CallOptions.DEFAULT, request);
    if (response.length != request.length) {
      throw new IllegalStateException(response.length + " of " + request.length + " bytes");
    }
  }

  /** An object without members until all calls were made. */
  @Override
  public String toJson() {
    return "{" + times + "}";
  }
}
