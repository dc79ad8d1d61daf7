package io.kcp4j.netty;

import io.kcp4j.internal.lanes.Lane;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.internal.ChannelSetup;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NotYetConnectedException;
import java.util.Objects;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

/**
 * Begins lanes of a session as {@link LaneChannel}s. Thread-safe.
 *
 * <pre>{@code
 * Future<LaneChannel> chat =
 *     new LaneChannelBootstrap(session)
 *         .config(LaneConfig.of(LaneKind.RELIABLE_ORDERED))
 *         .handler(new ChatHandler())
 *         .open(3);
 * }</pre>
 */
public final class LaneChannelBootstrap {

  private final KcpChannel session;
  private final ChannelSetup setup = new ChannelSetup(LaneChannelBootstrap.class);
  private volatile LaneConfig config;

  /**
   * Makes a bootstrap.
   *
   * @param session a channel whose {@link KcpChannelOption#DELIVERY} is {@code LANES}
   */
  public LaneChannelBootstrap(KcpChannel session) {
    this.session = Objects.requireNonNull(session, "session");
  }

  /** Sets how this side sends; by default as {@link KcpChannelOption#LANES} says. */
  public LaneChannelBootstrap config(LaneConfig config) {
    this.config = Objects.requireNonNull(config, "config");
    return this;
  }

  /** Sets an option of the channels that are opened from now on; null removes it. */
  public <T> LaneChannelBootstrap option(ChannelOption<T> option, T value) {
    setup.option(option, value);
    return this;
  }

  /** Sets an attribute of the channels that are opened from now on; null removes it. */
  public <T> LaneChannelBootstrap attr(AttributeKey<T> key, T value) {
    setup.attr(key, value);
    return this;
  }

  /**
   * Sets the handler that a channel's pipeline begins with. It has to be sharable if more than one
   * channel is opened, as every {@code ChannelInitializer} is.
   */
  public LaneChannelBootstrap handler(ChannelHandler handler) {
    setup.handler(handler);
    return this;
  }

  /**
   * Begins a lane with an id that is free: a client takes even ids, a server odd ones. The peer
   * notices that when the first message arrives.
   *
   * @return fails with {@link IllegalStateException} if no id is free, and as that of {@link
   *     #open(int)}
   */
  public Future<LaneChannel> open() {
    return open(session.eventLoop().newPromise());
  }

  /** Begins a lane, see {@link #open()}, and notifies {@code promise}. */
  public Future<LaneChannel> open(Promise<LaneChannel> promise) {
    return run(this::freeLane, promise);
  }

  /**
   * Begins a lane. One on which this side has sent {@link LaneMessage}s, or the peer anything, goes
   * on as a channel.
   *
   * @param lane its id, which both sides know
   * @return fails with {@link IllegalStateException} if the session has no lanes, if this one has a
   *     channel, or if one side has ended it and the other has not done so or has not read
   *     everything; with {@link IllegalArgumentException} if the peer takes no such lane; with
   *     {@link NotYetConnectedException} while the session is not active, and with {@link
   *     ClosedChannelException} when it has closed
   */
  public Future<LaneChannel> open(int lane) {
    return open(lane, session.eventLoop().newPromise());
  }

  /** Begins a lane, see {@link #open(int)}, and notifies {@code promise}. */
  public Future<LaneChannel> open(int lane, Promise<LaneChannel> promise) {
    return run(() -> lane(lane), promise);
  }

  private Future<LaneChannel> run(Supplier<Lane> lane, Promise<LaneChannel> promise) {
    EventLoop loop = session.eventLoop();
    if (loop.inEventLoop()) {
      openNow(lane, promise);
      return promise;
    }
    try {
      loop.execute(() -> openNow(lane, promise));
    } catch (RejectedExecutionException e) { // The event loop has shut down.
      promise.tryFailure(e);
    }
    return promise;
  }

  private void openNow(Supplier<Lane> lane, Promise<LaneChannel> promise) {
    if (!promise.setUncancellable()) {
      return;
    }
    if (!session.isActive()) {
      promise.setFailure(
          session.isOpen() ? new NotYetConnectedException() : new ClosedChannelException());
      return;
    }
    LaneChannel channel;
    try {
      channel = new LaneChannel(session, lane.get());
    } catch (RuntimeException e) {
      promise.setFailure(e);
      return;
    }
    try {
      setup.apply(channel);
      configure(channel.laneOfSession());
    } catch (RuntimeException e) { // Such as of a handler that is not sharable and was used before.
      channel.unsafe().closeForcibly();
      promise.setFailure(e);
      return;
    }
    session
        .eventLoop()
        .register(channel)
        .addListener(
            registered -> {
              if (registered.isSuccess()) {
                promise.setSuccess(channel);
              } else {
                channel.unsafe().closeForcibly();
                promise.setFailure(registered.cause());
              }
            });
  }

  private void configure(Lane lane) {
    LaneConfig config = this.config;
    if (config != null) {
      lane.config(config);
    }
  }

  private Lane freeLane() {
    KcpLanes lanes = KcpLanes.of(session);
    int first = session.parent() == null ? 0 : 1;
    for (int id = first; id < LanesConfig.MAX_LANES; id += 2) {
      Lane lane;
      try {
        lane = lanes.lane(id);
      } catch (IllegalArgumentException e) {
        break; // The peer takes no more lanes.
      }
      if (KcpLanes.channelOf(lane) == null && lane.keepInput() && lane.isUnused()) {
        return lane;
      }
    }
    throw new IllegalStateException("lanes: all in use (expected: one that is free)");
  }

  private Lane lane(int id) {
    Lane lane = KcpLanes.of(session).lane(id);
    if (KcpLanes.channelOf(lane) != null || !lane.isOutputOpen() || !lane.keepInput()) {
      throw new IllegalStateException(lane + ": in use (expected: no channel, and not ended)");
    }
    return lane;
  }
}
