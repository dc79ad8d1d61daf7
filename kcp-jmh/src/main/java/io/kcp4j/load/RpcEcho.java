package io.kcp4j.load;

import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;

/** A gRPC service that echoes bytes: one message, or a stream message by message. */
final class RpcEcho {

  private static final String SERVICE = "kcp4j.load.Echo";

  static final MethodDescriptor<byte[], byte[]> UNARY = method("Unary", MethodType.UNARY);
  static final MethodDescriptor<byte[], byte[]> BIDI = method("Bidi", MethodType.BIDI_STREAMING);

  private RpcEcho() {}

  private static MethodDescriptor<byte[], byte[]> method(String name, MethodType type) {
    return MethodDescriptor.<byte[], byte[]>newBuilder()
        .setType(type)
        .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
        .setRequestMarshaller(new Bytes())
        .setResponseMarshaller(new Bytes())
        .build();
  }

  static ServerServiceDefinition service() {
    return ServerServiceDefinition.builder(SERVICE)
        .addMethod(
            UNARY,
            ServerCalls.asyncUnaryCall(
                (request, responses) -> {
                  responses.onNext(request);
                  responses.onCompleted();
                }))
        .addMethod(BIDI, ServerCalls.asyncBidiStreamingCall(EchoStream::new))
        .build();
  }

  private record EchoStream(StreamObserver<byte[]> responses) implements StreamObserver<byte[]> {

    @Override
    public void onNext(byte[] message) {
      responses.onNext(message);
    }

    @Override
    public void onError(Throwable cause) {} // The client has ended.

    @Override
    public void onCompleted() {
      responses.onCompleted();
    }
  }

  private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {

    @Override
    public InputStream stream(byte[] value) {
      return new ByteArrayInputStream(value);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
