package io.kcp4j.netty.lanes;

import io.kcp4j.lanes.Lane;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpLanes;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.util.AttributeKey;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.Promise;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * Begins lanes of a session as {@link LaneChannel}s. Not thread-safe, but for {@link #open}.
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
  private final Map<ChannelOption<?>, Object> options = new LinkedHashMap<>();
  private final Map<AttributeKey<?>, Object> attributes = new LinkedHashMap<>();
  private LaneConfig config;
  private ChannelHandler handler;

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

  /** Sets an option of the channels. */
  public <T> LaneChannelBootstrap option(ChannelOption<T> option, T value) {
    options.put(Objects.requireNonNull(option, "option"), value);
    return this;
  }

  /** Sets an attribute of the channels. */
  public <T> LaneChannelBootstrap attr(AttributeKey<T> key, T value) {
    attributes.put(Objects.requireNonNull(key, "key"), value);
    return this;
  }

  /** Sets what is added to the pipeline of each channel. */
  public LaneChannelBootstrap handler(ChannelHandler handler) {
    this.handler = Objects.requireNonNull(handler, "handler");
    return this;
  }

  /**
   * Begins a lane with an id that is free: a client takes even ids, a server odd ones. The peer
   * notices that when the first message arrives.
   *
   * @return fails with {@link IllegalStateException} if no id is free
   */
  public Future<LaneChannel> open() {
    return run(this::openFree);
  }

  /**
   * Begins a lane.
   *
   * @param lane its id, which both sides know
   * @return fails with {@link IllegalStateException} if the session has no lanes, or if this one is
   *     in use, by the side of the peer perhaps; with {@link IllegalArgumentException} if the peer
   *     takes no such lane; with {@link java.nio.channels.ClosedChannelException} if the session
   *     has ended
   */
  public Future<LaneChannel> open(int lane) {
    return run(promise -> open(lane, promise));
  }

  private interface Opening {
    void open(Promise<LaneChannel> promise);
  }

  private Future<LaneChannel> run(Opening opening) {
    Promise<LaneChannel> promise = session.eventLoop().newPromise();
    if (session.eventLoop().inEventLoop()) {
      open(opening, promise);
    } else {
      session.eventLoop().execute(() -> open(opening, promise));
    }
    return promise;
  }

  private void open(Opening opening, Promise<LaneChannel> promise) {
    try {
      opening.open(promise);
    } catch (RuntimeException e) { // Of the user's options and handlers, too.
      promise.tryFailure(e);
    }
  }

  private KcpLanes lanes() {
    KcpLanes lanes = session.lanes();
    if (lanes == null) {
      throw new IllegalStateException(
          KcpChannelOption.DELIVERY
              + ": "
              + session.config().getOption(KcpChannelOption.DELIVERY)
              + " (expected: LANES, and a session, to open a lane)");
    }
    return lanes;
  }

  private void openFree(Promise<LaneChannel> promise) {
    int first = session.parent() == null ? 0 : 1;
    for (int id = first; id < LanesConfig.MAX_LANES; id += 2) {
      Lane lane;
      try {
        lane = lanes().lane(id);
      } catch (IllegalArgumentException e) {
        break; // The peer takes no more lanes.
      }
      if (isFree(lane)) {
        open(lane, promise);
        return;
      }
    }
    throw new IllegalStateException("lanes: all in use (expected: one that is free)");
  }

  private static boolean isFree(Lane lane) {
    return lane.attachment() == null && lane.keepInput() && lane.isUnused();
  }

  private void open(int id, Promise<LaneChannel> promise) {
    Lane lane = lanes().lane(id);
    if (lane.attachment() != null || !lane.isOutputOpen() || !lane.keepInput()) {
      throw new IllegalStateException(
          lane + ": in use (expected: free, or only begun by the peer)");
    }
    open(lane, promise);
  }

  private void open(Lane lane, Promise<LaneChannel> promise) {
    if (config != null) {
      lane.config(config);
    }
    LaneChannel channel = new LaneChannel(session, lane);
    setUp(channel);
    session
        .eventLoop()
        .register(channel)
        .addListener(
            registered -> {
              if (registered.isSuccess()) {
                promise.trySuccess(channel);
              } else {
                promise.tryFailure(registered.cause());
              }
            });
  }

  @SuppressWarnings("unchecked") // Options and keys were put in with values of their types.
  private void setUp(LaneChannel channel) {
    if (handler != null) {
      channel.pipeline().addLast(handler);
    }
    options.forEach(
        (option, value) -> {
          if (!channel.config().setOption((ChannelOption<Object>) option, value)) {
            throw new IllegalArgumentException(option + ": (expected: an option of lanes)");
          }
        });
    attributes.forEach((key, value) -> channel.attr((AttributeKey<Object>) key).set(value));
  }
}
