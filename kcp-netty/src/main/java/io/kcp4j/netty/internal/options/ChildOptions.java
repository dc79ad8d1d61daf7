package io.kcp4j.netty.internal.options;

import io.kcp4j.netty.internal.ForwardingUnsafe;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
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
 * Validates the child options of a {@code ServerBootstrap} when the server binds. The bootstrap has
 * no accessor for them, so its acceptor is given a substitute for a child: the substitute's options
 * are set on the configuration of an unregistered child; its pipeline ignores handlers, so that no
 * handler of the user runs, and none that cannot be shared is added; and its registration does
 * nothing.
 */
public final class ChildOptions {

  private ChildOptions() {}

  /**
   * Sets the child options on an unregistered child.
   *
   * @param pipeline the server's
   * @param child the unregistered child
   * @return the reason why an option is refused, or null if all are valid
   */
  public static IllegalArgumentException refusal(ChannelPipeline pipeline, Channel child) {
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

  /** The refusal of a child option, or of child options that contradict each other. */
  public static IllegalArgumentException refusal(RuntimeException ofOption) {
    return new IllegalArgumentException("childOption " + ofOption.getMessage(), ofOption);
  }

  /** Sets options on a child, and records the first refusal. */
  private static final class Recorder extends DefaultChannelConfig {

    private final Channel child;
    private IllegalArgumentException refusal;

    Recorder(Channel child) {
      super(child);
      this.child = child;
    }

    @Override
    public <T> boolean setOption(ChannelOption<T> option, T value) {
      try {
        return child.config().setOption(option, value);
      } catch (RuntimeException e) {
        if (refusal == null) {
          refusal = ChildOptions.refusal(e);
        }
        return true; // Binding fails with it, so that it needs no log line.
      }
    }
  }

  /** The substitute for a child. */
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
      return options == null
          ? super.config()
          : options; // The constructor of the superclass calls this.
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
