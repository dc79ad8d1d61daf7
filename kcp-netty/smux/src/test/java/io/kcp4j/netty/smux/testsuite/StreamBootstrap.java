package io.kcp4j.netty.smux.testsuite;

import io.kcp4j.netty.smux.ConnectionType;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.netty.smux.SmuxStreamChannelBootstrap;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import java.net.SocketAddress;

/**
 * A {@code Bootstrap} that connects by opening a stream on a connection of its own, which is closed
 * with the stream.
 */
final class StreamBootstrap extends Bootstrap {

  private final ConnectionType type;
  private final SmuxConfig config;
  private final Bootstrap connections;

  StreamBootstrap(ConnectionType type, SmuxConfig config, Bootstrap connections) {
    this.type = type;
    this.config = config;
    this.connections = connections.clone();
  }

  /** Blocks until the stream is there. */
  @Override
  public ChannelFuture connect(SocketAddress remote) {
    connections.handler(
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(Channel connection) {
            type.addClientHandlers(connection.pipeline());
            connection.pipeline().addLast(new SmuxHandler(config, true, null));
          }
        });
    Channel connection = connections.connect(remote).syncUninterruptibly().channel();
    SmuxStreamChannelBootstrap bootstrap =
        new SmuxStreamChannelBootstrap(connection).handler(config().handler());
    config().options().forEach((option, value) -> setOption(bootstrap, option, value));
    SmuxStreamChannel stream = bootstrap.open().syncUninterruptibly().getNow();
    stream.closeFuture().addListener(closed -> connection.close());
    return stream.newSucceededFuture();
  }

  @SuppressWarnings("unchecked") // An option has a value of its type.
  private static void setOption(
      SmuxStreamChannelBootstrap bootstrap, ChannelOption<?> option, Object value) {
    bootstrap.option((ChannelOption<Object>) option, value);
  }
}
