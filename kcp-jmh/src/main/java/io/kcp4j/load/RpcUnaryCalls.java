package io.kcp4j.load;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import io.netty.util.concurrent.EventExecutor;
import java.util.function.Consumer;

/**
 * Unary calls at a fixed rate, which do not wait for each other. Measures the time until each
 * response, from the instant when the call was due: delays of the client count.
 */
final class RpcUnaryCalls {

  private final Channel channel;
  private final byte[] request;
  private final RoundTripHistogram roundTrips;
  private final Consumer<Throwable> onFailure;
  private PeriodicTask ticks;
  private long calls;

  RpcUnaryCalls(
      Channel channel,
      int messageBytes,
      RoundTripHistogram roundTrips,
      Consumer<Throwable> onFailure) {
    this.channel = channel;
    this.request = new byte[messageBytes];
    this.roundTrips = roundTrips;
    this.onFailure = onFailure;
  }

  void start(EventExecutor executor, long periodNs) {
    executor.execute(
        () -> ticks = new PeriodicTask(executor, System::nanoTime, periodNs, this::call));
  }

  private void call() {
    long number = calls++;
    ClientCalls.asyncUnaryCall(
        channel.newCall(RpcEcho.UNARY, CallOptions.DEFAULT),
        request,
        new StreamObserver<>() {
          @Override
          public void onNext(byte[] response) {
            roundTrips.add(ticks.sinceDueNs(number));
          }

          @Override
          public void onError(Throwable cause) {
            onFailure.accept(cause);
          }

          @Override
          public void onCompleted() {}
        });
  }
}
