package io.kcp4j.netty;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.ChannelConfig;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.ChannelPromise;
import io.netty.channel.DefaultChannelConfig;
import io.netty.channel.EventLoop;
import io.netty.channel.local.LocalChannel;
import java.lang.reflect.Proxy;
import java.util.Map;

/**
 * Tells when a server binds whether its {@code ServerBootstrap}'s child options will do. The
 * bootstrap keeps them to itself: its acceptor is given a channel that only looks like a child. Its
 * options are judged by the configuration of a child that stays unregistered, its pipeline ignores
 * handlers, so that none of the user's runs and none that cannot be shared is used up, and
 * registering it does nothing.
 */
final class ChildOptions {

  private static final String KCP_OPTIONS = KcpChannelOption.class.getPackageName() + '.';

  private ChildOptions() {}

  /**
   * Sets the child options once.
   *
   * @param pipeline the server's
   * @param child one that is thrown away
   * @return what the first option was refused for, or null if there is nothing to refuse
   */
  static IllegalArgumentException refusal(ChannelPipeline pipeline, KcpChannel child) {
    Recorder options = new Recorder(child);
    for (Map.Entry<String, ?> entry : pipeline) {
      ChannelHandlerContext context = pipeline.context(entry.getKey());
      if (context != null
          && context.handler() instanceof ChannelInboundHandler acceptor
          && acceptor.getClass().getEnclosingClass() == ServerBootstrap.class) {
        try {
          acceptor.channelRead(context, new Template(options));
        } catch (Exception e) {
          return new IllegalArgumentException("child options could not be set", e);
        }
      }
    }
    return options.refusal;
  }

  /** Takes options on behalf of a child, and notes what that refuses. */
  private static final class Recorder extends DefaultChannelConfig {

    private final KcpChannel child;
    private IllegalArgumentException refusal;

    Recorder(KcpChannel child) {
      super(child);
      this.child = child;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
      try {
        if (child.config().setOption(option, value)) {
          return true;
        }
      } catch (RuntimeException e) {
        refuse(new IllegalArgumentException("childOption " + e.getMessage(), e));
        return true; // Binding fails with it: it needs no line in the log.
      }
      if (!option.name().startsWith(KCP_OPTIONS)) {
        return false;
      }
      refuse(
          new IllegalArgumentException(
              "childOption " + option + ": (expected: option, it is not one of a child's)"));
      return true;
    }

    private void refuse(IllegalArgumentException cause) {
      if (refusal == null) {
        refusal = cause;
      }
    }
  }

  /** Looks like a child to an acceptor. */
  private static final class Template extends LocalChannel {

    private static final ChannelPipeline IGNORING =
        (ChannelPipeline)
            Proxy.newProxyInstance(
                ChannelPipeline.class.getClassLoader(),
                new Class<?>[] {ChannelPipeline.class},
                (pipeline, method, args) ->
                    method.getReturnType() == ChannelPipeline.class ? pipeline : null);

    private final ChannelConfig options;

    Template(ChannelConfig options) {
      this.options = options;
    }

    @Override
    public ChannelConfig config() {
      return options == null ? super.config() : options; // The superclass asks before it is set.
    }

    @Override
    public ChannelPipeline pipeline() {
      return IGNORING;
    }

    @Override
    public Unsafe unsafe() {
      return new ForwardingUnsafe(super.unsafe()) {
        @Override
        public void register(EventLoop eventLoop, ChannelPromise promise) {
          promise.setSuccess();
        }

        @Override
        public void closeForcibly() {}
      };
    }
  }
}
