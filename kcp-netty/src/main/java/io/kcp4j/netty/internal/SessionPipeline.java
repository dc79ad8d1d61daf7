package io.kcp4j.netty.internal;

import io.netty.channel.Channel;
import io.netty.channel.DefaultChannelPipeline;

/**
 * The pipeline of a session, or of a stream or lane that a session carries. Netty logs each
 * exception that no handler takes. Peers can cause exceptions at will, so these go to the session,
 * which limits what is logged.
 */
public class SessionPipeline extends DefaultChannelPipeline {

  /** Makes the pipeline of {@code channel}. */
  public SessionPipeline(Channel channel) {
    super(channel);
  }

  /**
   * Whether an error of the peer of {@code channel} is fired as an exception: not if the channel is
   * a session that a packet from a forged address may have begun.
   */
  public static boolean isPeerErrorFired(Channel channel) {
    return !(channel.pipeline() instanceof SessionPipeline pipeline) || pipeline.isPeerErrorFired();
  }

  /** Whether an error of the peer is fired as an exception; by default that of the parent. */
  protected boolean isPeerErrorFired() {
    Channel parent = channel().parent();
    return parent == null || isPeerErrorFired(parent);
  }

  /** Where to count what the peer of {@code channel} makes a protocol over it keep. */
  public static ConnectionMemory memory(Channel channel) {
    return channel.pipeline() instanceof SessionPipeline pipeline
        ? pipeline.memory()
        : ConnectionMemory.UNLIMITED;
  }

  /** The same for the channel of this pipeline; by default that of the parent. */
  protected ConnectionMemory memory() {
    Channel parent = channel().parent();
    return parent == null ? ConnectionMemory.UNLIMITED : memory(parent);
  }

  @Override
  protected final void onUnhandledInboundException(Throwable cause) {
    if (!takeUnhandled(channel(), cause)) {
      super.onUnhandledInboundException(cause);
    }
  }

  /**
   * Takes an exception that no handler has taken; by default the parent does. Called by the event
   * loop.
   *
   * @param source the channel that it was fired at
   * @return whether it was taken; if not, Netty logs it
   */
  protected boolean takeUnhandled(Channel source, Throwable cause) {
    Channel parent = channel().parent();
    return parent != null
        && parent.pipeline() instanceof SessionPipeline pipeline
        && pipeline.takeUnhandled(source, cause);
  }
}
