package io.kcp4j.load;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ClientResponseObserver;
import java.util.function.Consumer;
import java.util.function.LongConsumer;

/**
 * One bidirectional stream, whose messages are echoed in order. A number of messages is always
 * unanswered: the next is sent when one is answered and the call takes it. Used by the thread that
 * runs the callbacks of the call.
 */
final class RpcBidiStream implements ClientResponseObserver<byte[], byte[]> {

  private final byte[] message;
  private final LongConsumer onEcho;
  private final Consumer<Throwable> onFailure;

  /** When message n was sent, at the index n modulo the length. */
  private final long[] sentAtNs;

  private ClientCallStreamObserver<byte[]> requests;
  private long sent;
  private long answered;

  /**
   * A stream.
   *
   * @param onEcho takes the instant at which a message was sent when its echo arrives
   */
  RpcBidiStream(
      int messageBytes, int inFlight, LongConsumer onEcho, Consumer<Throwable> onFailure) {
    this.message = new byte[messageBytes];
    this.sentAtNs = new long[inFlight];
    this.onEcho = onEcho;
    this.onFailure = onFailure;
  }

  void start(Channel channel) {
    ClientCalls.asyncBidiStreamingCall(channel.newCall(RpcEcho.BIDI, CallOptions.DEFAULT), this);
  }

  @Override
  public void beforeStart(ClientCallStreamObserver<byte[]> requests) {
    this.requests = requests;
    requests.setOnReadyHandler(this::send);
  }

  private void send() {
    while (sent - answered < sentAtNs.length && requests.isReady()) {
      sentAtNs[(int) (sent++ % sentAtNs.length)] = System.nanoTime();
      requests.onNext(message);
    }
  }

  @Override
  public void onNext(byte[] echo) {
    onEcho.accept(sentAtNs[(int) (answered++ % sentAtNs.length)]);
    send();
  }

  @Override
  public void onError(Throwable cause) {
    onFailure.accept(cause);
  }

  @Override
  public void onCompleted() {
    onFailure.accept(new IllegalStateException("the server has ended the stream"));
  }
}
