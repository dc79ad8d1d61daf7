package io.kcp4j.netty.smux.testsuite;

import io.kcp4j.netty.smux.ConnectionType;
import io.kcp4j.netty.smux.SmuxHandler;
import io.kcp4j.netty.smux.SmuxStreamChannel;
import io.kcp4j.smux.SmuxConfig;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;

/** A {@code ServerBootstrap} whose children are the streams that peers open on connections. */
final class StreamServerBootstrap extends ServerBootstrap {

  private final ConnectionType type;
  private final SmuxConfig config;
  private final ServerBootstrap connections;

  StreamServerBootstrap(ConnectionType type, SmuxConfig config, ServerBootstrap connections) {
    this.type = type;
    this.config = config;
    this.connections = connections.clone();
  }

  @Override
  public ChannelFuture bind() {
    if (config().handler() != null) {
      connections.handler(config().handler());
    }
    config().options().forEach((option, value) -> setOption(option, value));
    connections.childHandler(
        new ChannelInitializer<>() {
          @Override
          protected void initChannel(Channel connection) {
            type.addServerHandlers(connection.pipeline());
            connection.pipeline().addLast(new SmuxHandler(config, false, streamInitializer()));
          }
        });
    return connections.bind(config().localAddress());
  }

  @SuppressWarnings("unchecked") // An option has a value of its type.
  private void setOption(ChannelOption<?> option, Object value) {
    connections.option((ChannelOption<Object>) option, value);
  }

  private ChannelInitializer<SmuxStreamChannel> streamInitializer() {
    return new ChannelInitializer<>() {
      @Override
      @SuppressWarnings("unchecked") // An option, or an attribute, has a value of its type.
      protected void initChannel(SmuxStreamChannel stream) {
        config()
            .childOptions()
            .forEach(
                (option, value) ->
                    stream.config().setOption((ChannelOption<Object>) option, value));
        config()
            .childAttrs()
            .forEach((key, value) -> stream.attr((AttributeKey<Object>) key).set(value));
        stream.pipeline().addLast(config().childHandler());
      }
    };
  }
}
