package io.kcp4j.examples;

import io.kcp4j.Delivery;
import io.netty.channel.ChannelHandler;
import java.util.ArrayList;
import java.util.List;

/** How a shooter's messages share a session. */
enum ShooterVariant {
  /** On lanes. */
  LANES("on lanes", Delivery.LANES) {
    @Override
    List<ChannelHandler> codec() {
      return List.of();
    }
  },

  /** One behind the other, as without lanes. */
  ONE_STREAM("in one stream", Delivery.STREAM) {
    @Override
    List<ChannelHandler> codec() {
      return OneStreamCodec.handlers();
    }
  };

  private final String title;
  private final Delivery delivery;

  ShooterVariant(String title, Delivery delivery) {
    this.title = title;
    this.delivery = delivery;
  }

  /** What the table calls it. */
  String title() {
    return title;
  }

  /** The handlers between the session and the game. */
  abstract List<ChannelHandler> codec();

  /** The handlers of a session, of which the last is that of the game. */
  ChannelHandler[] handlers(ChannelHandler game) {
    List<ChannelHandler> handlers = new ArrayList<>(codec());
    handlers.add(game);
    return handlers.toArray(ChannelHandler[]::new);
  }

  /** The settings of this variant, given those of the command line. */
  BootstrapSettings of(BootstrapSettings settings, int bytesPerSecond) {
    return settings
        .with(
            settings.config().toBuilder().delivery(delivery).rateLimit(bytesPerSecond).build(),
            settings.fec())
        .with(ShooterLane.settings());
  }
}
