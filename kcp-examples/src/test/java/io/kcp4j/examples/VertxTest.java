package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFactory;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.InternetProtocolFamily;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.net.NetServer;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.core.transport.Transport;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Servers and clients of Vert.x on channels of KCP: it finds handlers by their event loops. */
class VertxTest {

  private static final String HOST = "127.0.0.1";

  private final Vertx vertx =
      Vertx.builder()
          .with(new VertxOptions().setEventLoopPoolSize(4))
          .withTransport(new KcpTransport())
          .build();

  private static <T> T get(Future<T> future) throws Exception {
    return future.toCompletionStage().toCompletableFuture().get(60, TimeUnit.SECONDS);
  }

  @AfterEach
  void close() throws Exception {
    get(vertx.close());
  }

  private String echo(int port, String text) throws Exception {
    CompletableFuture<String> echoed = new CompletableFuture<>();
    NetSocket client =
        get(
            vertx
                .createNetClient()
                .connect(port, HOST)
                .onSuccess(
                    socket -> {
                      socket.handler(buffer -> echoed.complete(buffer.toString()));
                      socket.write(Buffer.buffer(text));
                    }));
    String answer = echoed.get(60, TimeUnit.SECONDS);
    get(client.close());
    return answer;
  }

  @Test
  void serverAnswersItsClient() throws Exception {
    NetServer server =
        get(vertx.createNetServer().connectHandler(s -> s.handler(s::write)).listen(0, HOST));

    assertEquals("hello, Vert.x", echo(server.actualPort(), "hello, Vert.x"));

    get(server.close());
  }

  @Test
  void everyClientOfSeveralInstancesIsServedByAThreadOfItsInstance() throws Exception {
    Set<String> threads = ConcurrentHashMap.newKeySet();
    NetServer first = get(vertx.createNetServer().connectHandler(s -> {}).listen(0, HOST));
    int port = first.actualPort();
    get(first.close());
    get(
        vertx.deployVerticle(
            () -> new EchoVerticle(port, threads), new DeploymentOptions().setInstances(3)));

    for (int i = 0; i < 20; i++) {
      assertEquals("text " + i, echo(port, "text " + i));
    }

    assertTrue(
        threads.stream().allMatch(thread -> thread.startsWith("vert.x-eventloop-thread-")),
        threads::toString);
  }

  private static final class EchoVerticle extends VerticleBase {

    private final int port;
    private final Set<String> threads;

    EchoVerticle(int port, Set<String> threads) {
      this.port = port;
      this.threads = threads;
    }

    @Override
    public Future<?> start() {
      return vertx
          .createNetServer()
          .connectHandler(
              socket -> {
                threads.add(Thread.currentThread().getName());
                socket.handler(socket::write);
              })
          .listen(port, HOST);
    }
  }

  /** Vert.x's own transport on NIO, with channels of KCP in place of those of TCP. */
  private static final class KcpTransport
      implements Transport, io.vertx.core.spi.transport.Transport {

    private final io.vertx.core.spi.transport.Transport nio = Transport.NIO.implementation();

    @Override
    public void configure(NetServerOptions options, boolean isDomain, ServerBootstrap bootstrap) {
      io.vertx.core.spi.transport.Transport.super.configure(options, isDomain, bootstrap);
      // Its children have handlers on the event loops of the child group only.
      bootstrap.option(KcpServerChannelOption.SOCKET_GROUP, bootstrap.config().childGroup());
    }

    @Override
    public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
      return KcpChannel::new;
    }

    @Override
    public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean domainSocket) {
      return KcpServerChannel::new;
    }

    @Override
    public IoHandlerFactory ioHandlerFactory() {
      return nio.ioHandlerFactory();
    }

    @Override
    public DatagramChannel datagramChannel() {
      return nio.datagramChannel();
    }

    @Override
    @SuppressWarnings("deprecation") // The interface names the deprecated type.
    public DatagramChannel datagramChannel(InternetProtocolFamily family) {
      return nio.datagramChannel(family);
    }

    @Override
    public String name() {
      return "kcp";
    }

    @Override
    public boolean available() {
      return true;
    }

    @Override
    public Throwable unavailabilityCause() {
      return null;
    }

    @Override
    public io.vertx.core.spi.transport.Transport implementation() {
      return this;
    }
  }
}
